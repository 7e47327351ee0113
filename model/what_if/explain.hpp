#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/network/network.hpp"
#include "core/run/run.hpp"
#include "model/machine/machine.hpp"
#include "model/sgd_iter/predict.hpp"

namespace dlscale::model {

/// What one part of an iteration takes, and what the iteration would take without it: by how much a
/// perfect one could help at best. Parts run beside one another, so that what they take does not
/// add up to the iteration.
struct PartOfIteration {
  std::string name;  ///< "communication"
  Seconds busy;      ///< of loading, of each loader thread; of communication hidden or not
  Seconds without;   ///< the iteration if the part took no time
};

/// How the iteration follows one input, by predictions with it changed alone.
struct Sensitivity {
  std::string input;  ///< as --set calls it, "inter_node.bandwidth", or in words
  Seconds better;     ///< the iteration with it 10 % better: a rate times 1.1, a time over 1.1
  Seconds worse;      ///< a rate over 1.1, a time times 1.1
};
/// By which inputs are changed.
inline constexpr double sensitivity_step = 1.1;

/// Something else to run, by a prediction of its own. Batch and precision change what is trained.
struct Advice {
  std::string change;   ///< "--schedule merged"
  Seconds iteration;    ///< 0 where it cannot be predicted
  double images_per_s;  ///< likewise
  std::string why_not;  ///< the reason then, else empty
};

/// Why a predicted iteration takes so long, and what would shorten it.
struct Explanation {
  Prediction prediction;
  std::vector<PartOfIteration> parts;  ///< in the order of an iteration
  std::vector<Sensitivity> inputs;     ///< what changes the iteration most first
  std::vector<Advice> advice;          ///< most images a second first, what cannot be last
};

/// Of run.ranks ranks. `machine` may be nominal or fitted. Pure, as predict() is, and throws as it
/// does. All by simulation of the task graph, input by input and change by change, at the values of
/// parameters, not at the ends of their intervals.
Explanation explain(const Network& network, const Machine& machine, const Run& run);

}  // namespace dlscale::model
