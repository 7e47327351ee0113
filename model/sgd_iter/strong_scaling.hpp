#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/remedy.hpp"
#include "core/network/network.hpp"
#include "core/run/run.hpp"
#include "model/machine/machine.hpp"
#include "model/sgd_iter/cluster/stragglers.hpp"
#include "model/sgd_iter/predict.hpp"

namespace dlscale::model {

/// Strong scaling: iterations of one global batch, of which each of N ranks takes an Nth part.
struct StrongScaling {
  /// Speed-ups are relative to one rank with the whole batch.
  std::vector<Prediction> rows;
  std::vector<std::string> left_out;  ///< a sentence for each number of ranks without a row
  /// "1 rank with all 256 images". Where that cannot be predicted, the fewest ranks of `rows`,
  /// whose speed-up counts as their number, and why.
  std::string speedup_over;
};

/// predict() for each number of ranks that divides `global_batch` ≥ 1; Run::batch is ignored. Only
/// left_out, in this wording, where none can be predicted.
StrongScaling predict_strong(const Network& network, const Machine& machine, const Run& run,
                             std::span<const int> ranks, std::int64_t global_batch,
                             const RankSpread& spread, const Wording& wording = message_of);

}  // namespace dlscale::model
