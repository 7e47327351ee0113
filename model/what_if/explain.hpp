#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/network/network.hpp"
#include "core/run/run.hpp"
#include "model/machine/machine.hpp"
#include "model/sgd_iter/graph/iteration.hpp"
#include "model/sgd_iter/predict.hpp"

namespace dlscale::model {

/// The same training with one changed setting.
struct Change {
  std::string_view setting;  ///< its name, "schedule"
  std::string value;
  Run run;
  std::string all_reduce;  ///< word of set_all_reduce(); empty: as before
};

/// Changes to one setting of the run at a time: schedule and its parameters, gradient reduction,
/// loader threads, place of normalization, time of batch copies, launches, fusion, precision,
/// batch. Settings that the run has already, or that do not apply to the machine's kind of device,
/// are left out. Some of the rest may not be predictable; that shows only when predicted.
std::vector<Change> changes_of(const Machine& machine, const Run& run);

/// Busy time of one part of an iteration, and the iteration's time without it: the most that
/// speeding it up can save. Parts overlap, so their times do not add up to the iteration.
struct PartOfIteration {
  std::string name;  ///< "communication"
  Seconds busy;      ///< loading: per loader thread; communication: hidden or not
  Seconds without;   ///< the iteration if the part took no time
};

/// Response of the iteration to one input, by predictions with it changed alone.
struct Sensitivity {
  std::string input;  ///< as stated_input_keys() names it, "inter_node.bandwidth", or in words
  Seconds better;     ///< the iteration with it 10 % better: a rate times 1.1, a time over 1.1
  Seconds worse;      ///< a rate over 1.1, a time times 1.1
};
/// Factor by which inputs are changed.
inline constexpr double sensitivity_step = 1.1;

/// An alternative setting with a prediction of its own. Batch and precision change what is trained.
struct Advice {
  std::string_view setting;  ///< the changed one, "schedule"
  std::string value;
  Seconds iteration;    ///< 0 where it cannot be predicted
  double images_per_s;  ///< likewise
  std::string why_not;  ///< reason if it cannot be predicted, else empty
};

/// The reasons for the length of a predicted iteration, and ways to shorten it.
struct Explanation {
  Prediction prediction;
  std::vector<PartOfIteration> parts;  ///< in the order of an iteration
  std::vector<Sensitivity> inputs;     ///< largest effect first
  std::vector<Advice> advice;          ///< most images a second first; unpredictable changes last
};

/// Explains an iteration on run.ranks ranks. `machine` may be nominal or fitted. Pure and with the
/// exceptions of predict(). It simulates the task graph for every input and change, at the values
/// of parameters, not at the ends of their intervals.
Explanation explain(const Network& network, const Machine& machine, const Run& run);

/// Parts of the iteration that `plan` predicts in `time`: each simulates the plan again with that
/// part at zero. Parts that take no time are left out.
std::vector<PartOfIteration> parts_of(const IterationPlan& plan, const IterationTime& time);

/// Explains an input-bound iteration: the limiting stage of the input pipeline, the part of the
/// devices' demand that it delivers, and what would be enough. Empty for other iterations.
std::string input_sentence(const Network& network, const Machine& machine,
                           const Prediction& prediction);

}  // namespace dlscale::model
