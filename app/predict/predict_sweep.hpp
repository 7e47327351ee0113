#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/options/training_options.hpp"
#include "app/options/what_if_options.hpp"
#include "core/network/network.hpp"
#include "model/sgd_iter/cluster/compute_factors.hpp"
#include "model/sgd_iter/predict.hpp"
#include "report/prediction/sweep_table.hpp"

namespace dlscale::app {

/// What a prediction sweeps over; ≥ 1 of each.
struct SweptAxes {
  std::vector<int> ranks;
  std::vector<int> batches;
  std::vector<Schedule> schedules;
  std::vector<InterNodeOptions> links;
  /// Images of an iteration on all ranks, instead of `batches`, which is empty then.
  std::optional<std::int64_t> global_batch = {};
  /// Whether anything but the ranks is swept, which prediction_document() has a row each of.
  [[nodiscard]] bool beyond_ranks() const {
    return batches.size() > 1 || schedules.size() > 1 || links.size() > 1;
  }
  /// Whether rows differ in batch, schedule or link.
  [[nodiscard]] bool several() const {
    return beyond_ranks() || (global_batch && ranks.size() > 1);
  }
};

/// Each row is predicted in full, which takes some milliseconds.
inline constexpr std::size_t most_swept_rows = 10'000;

/// Changes `machine` as was asked for. Returns sentences of that, and of what a framework's profile
/// set. Throws ConfigError.
std::vector<std::string> what_is_assumed(const TrainingOptions& options,
                                         const WhatIfOptions& what_if, model::Machine& machine);

/// What input_sentence() says of it.
void note_input(const model::Machine& machine, model::Prediction& prediction);

/// Iterations on several numbers of ranks.
struct PredictedRanks {
  struct LeftOut {
    int ranks = 1;
    std::string why;
  };
  std::vector<model::Prediction> rows;
  std::vector<LeftOut> left_out;
};

/// By model::predict(), at once where all can be predicted, else of those that can one by one.
PredictedRanks predict_each(const Network& network, const model::Machine& machine, const Run& run,
                            std::span<const int> ranks, const model::RankSpread& spread);

/// Every combination, on the hardware asked about, of ranks that vary so. One that cannot be
/// predicted is left out, and why is said; throws ConfigError for more than most_swept_rows of
/// them, and why the first cannot where none can.
report::Sweep predict_sweep(const TrainingOptions& options, const WhatIfOptions& what_if,
                            const model::RankSpread& spread, const Network& network,
                            const SweptAxes& axes);

}  // namespace dlscale::app
