#pragma once
#include <cstddef>
#include <vector>

#include "app/training_options.hpp"
#include "app/what_if_options.hpp"
#include "core/network.hpp"
#include "model/sgd_iter/compute_factors.hpp"
#include "report/sweep_table.hpp"

namespace dlscale::app {

/// What a prediction sweeps over; ≥ 1 of each.
struct SweptAxes {
  std::vector<int> ranks;
  std::vector<int> batches;
  std::vector<Schedule> schedules;
  std::vector<InterNodeOptions> links;
  /// Whether anything but the ranks is swept, which prediction_document() has a row each of.
  [[nodiscard]] bool beyond_ranks() const {
    return batches.size() > 1 || schedules.size() > 1 || links.size() > 1;
  }
};

/// Each row is predicted in full, which takes some milliseconds.
inline constexpr std::size_t most_swept_rows = 10'000;

/// Every combination, on the hardware asked about, of ranks that vary so. One that cannot be
/// predicted is left out, and why is said; throws ConfigError for more than most_swept_rows of
/// them, and why the first cannot where none can.
report::Sweep predict_sweep(const TrainingOptions& options, const WhatIfOptions& what_if,
                            const model::RankSpread& spread, const Network& network,
                            const SweptAxes& axes);

}  // namespace dlscale::app
