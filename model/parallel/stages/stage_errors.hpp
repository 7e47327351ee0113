#pragma once
#include <cstddef>
#include <vector>

#include "core/base/units.hpp"
#include "core/network/network.hpp"
#include "core/run/run.hpp"
#include "model/machine/machine.hpp"
#include "model/parallel/parts/network_parts.hpp"
#include "model/parallel/stages/part_exchange.hpp"
#include "model/sgd_iter/scaling/sheet_exchange.hpp"

namespace dlscale::model {

/// 90 % of published speed-ups by pipelines lie within exp(± this) of their predictions from data
/// sheets: the root mean square of their logarithms' errors times Student's t. [14 by torchgpipe, 3
/// by HyPar-Flow and GEMS, none fitted: tests/model/pipeline/torchgpipe_test.cpp computes it]
inline constexpr double published_pipeline_error = 0.20;
inline constexpr std::size_t published_pipelines = 17;

/// Errors of an iteration by data sheets that are independent on a logarithmic scale: factors on
/// its time at the ends of the 90 % interval of each.
struct StageErrors {
  TimeFactors computing;  ///< kernels and input; 1 where a measured iteration decides them
  TimeFactors exchange;   ///< what several copies of the network add; 1 for one copy
  TimeFactors pipeline;   ///< what stages add; 1 for one stage
  /// The factors of the iteration. [D: as UncertainIteration]
  [[nodiscard]] TimeFactors all() const;
  /// The factors of the time beside one device, in which errors of computing cancel.
  [[nodiscard]] TimeFactors beside_computing() const;
};

/// Both errors together.
TimeFactors joined(const TimeFactors& one, const TimeFactors& other);

/// The errors of the sum of gradients that takes longest, as of data parallelism over the ranks
/// that hold its part: scaling_factors(). `alone` > 0 is what an iteration takes without sums.
TimeFactors exchange_errors(const Network& network, const Machine& machine, const Run& run,
                            const NetworkParts& parts, const std::vector<PartExchange>& exchanges,
                            Seconds alone);

/// Also of strips of images: a judgement, for no published training decides their time. `ranks` ≥
/// 1: of a pipeline.
TimeFactors pipeline_errors(int ranks);

}  // namespace dlscale::model
