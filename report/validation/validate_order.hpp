#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "core/base/units.hpp"

namespace dlscale::report {

/// Ranks of values from 1, the smallest, up; those of equals are their mean, 2.5 twice for a second
/// and a third. Values count as equal to the smallest of a row of equals that exceed it by
/// `tolerance` times itself at most. Requires values ≥ 0.
std::vector<double> mean_ranks(std::span<const double> values, double tolerance = 0);

/// Pearson's correlation of two rankings of the same things, Spearman's ρ of what was ranked; -1 to
/// 1. Absent where one of them tells nothing apart, and of fewer than two things. [C. Spearman,
/// The proof and measurement of association between two things, 1904]
std::optional<double> rank_correlation(std::span<const double> a, std::span<const double> b);

/// What a schedule was measured and predicted to take.
struct ScheduleTime {
  Seconds measured;   ///< median of repeats
  Seconds low, high;  ///< interval of the measured time
  Seconds predicted;
};

/// How well predictions order the schedules of one training: network, batch, precision, ranks,
/// links and backend are the same, and how gradients travel differs alone.
struct ScheduleOrder {
  std::vector<std::size_t> runs;  ///< which of the runs of a validation these are, as listed there
  /// By the medians as they stand, however uncertain; equal ones share a rank.
  std::vector<double> measured_ranks;
  /// Predictions that differ by less than 1e-9 of themselves share a rank: schedules that come to
  /// the same messages.
  std::vector<double> predicted_ranks;
  std::optional<double> correlation;  ///< rank_correlation() of these two
  int pairs_apart = 0;               ///< pairs of schedules whose measured intervals do not overlap
  int pairs_right = 0;               ///< of these, those that are predicted in the order measured
  std::size_t fastest_measured = 0;  ///< place in `runs`; of equals the first
  std::size_t fastest_predicted = 0;  ///< likewise: what one would choose
  /// Measured time of what one would choose, over that of the fastest, minus 1; ≥ 0.
  double loss = 0;
};

/// The order of schedules that took and were predicted to take these times, without its `runs`.
/// Requires ≥ 2.
ScheduleOrder order_of(std::span<const ScheduleTime> schedules);

}  // namespace dlscale::report
