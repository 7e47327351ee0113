#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "core/base/units.hpp"

namespace dlscale::report {

/// Ranks of values from 1, the smallest. Equal values share their mean rank: second and third get
/// 2.5 each. Values are equal to the smallest of a group if they exceed it by at most `tolerance`
/// times itself. Requires values ≥ 0.
std::vector<double> mean_ranks(std::span<const double> values, double tolerance = 0);

/// Pearson's correlation of two rankings of the same things, which is Spearman's ρ of the ranked
/// values; -1 to 1. Absent if a ranking is constant, or for fewer than two things. [C. Spearman,
/// The proof and measurement of association between two things, 1904]
std::optional<double> rank_correlation(std::span<const double> a, std::span<const double> b);

/// Measured and predicted time of a schedule.
struct ScheduleTime {
  Seconds measured;   ///< median of the repeats
  Seconds low, high;  ///< ends of the interval of the measured time
  Seconds predicted;
};

/// How well predictions order the schedules of one training. Network, batch, precision, ranks,
/// links and backend are the same; only the gradient exchange differs.
struct ScheduleOrder {
  std::vector<std::size_t> runs;  ///< indices of these runs in the validation
  /// Ranks by the medians, however uncertain; equal medians share a rank.
  std::vector<double> measured_ranks;
  /// Ranks by the predictions. Those within a relative 1e-9 share a rank: their schedules send the
  /// same messages.
  std::vector<double> predicted_ranks;
  std::optional<double> correlation;  ///< rank_correlation() of the two rankings
  int pairs_apart = 0;               ///< pairs of schedules whose measured intervals do not overlap
  int pairs_right = 0;               ///< pairs among these that are predicted in the measured order
  std::size_t fastest_measured = 0;  ///< index in `runs`; the first of equals
  std::size_t fastest_predicted = 0;  ///< likewise: the schedule to choose by prediction
  /// Measured time of the schedule chosen by prediction over that of the fastest, minus 1; ≥ 0.
  double loss = 0;
};

/// The order of schedules with these measured and predicted times, without its `runs`. Requires ≥
/// 2.
ScheduleOrder order_of(std::span<const ScheduleTime> schedules);

}  // namespace dlscale::report
