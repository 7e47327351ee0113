#pragma once
#include <cstddef>
#include <optional>
#include <span>

#include "regression/statistics/metric.hpp"

namespace dlscale::regression {

/// Judges one new point against the history of its level.
///
///   s · (ln y − median(h)) >
///     max( ln(1 + δ), t(p, n − 1) · 1.4826 MAD(h) · (1 + 0.8 / n) · √(1 + 1 / n) )
///
/// h = ln of the n points since the last accepted change, s = worse_sign(direction), t = quantile
/// of Student's distribution. The bound is a prediction interval with robust centre and spread.
/// 1.4826 makes the MAD a standard deviation for normal data. 1 + 0.8 / n corrects its bias for few
/// points, and √(1 + 1 / n) adds the centre's own error. A hit requires two fresh runs of the same
/// commit; an alarm needs at least two of three runs beyond the bound. Where it is wrong: a metric
/// that depends on the processor it ran on has several levels; only the key of a series can
/// separate them.
struct NewPointRule {
  double margin = 0.02;     ///< δ
  double quantile = 0.995;  ///< p
  std::size_t least = 10;   ///< minimum points of history for a verdict
  std::size_t most = 64;    ///< maximum points of history used, the latest
  std::size_t runs = 3;     ///< runs of the new commit that decide a hit
  std::size_t needed = 2;   ///< number of those that must be beyond the bound
};

struct NewPoint {
  /// unchanged, regressed, improved or inconclusive. Inconclusive means beyond the bound, and
  /// `runs_wanted` more runs of the same commit are needed. Absent if the history is too short.
  std::optional<Verdict> verdict;
  double level = 0;    ///< median of the history, unit of the values
  double lowest = 0;   ///< lower end of the values that count as unchanged (unit of the values)
  double highest = 0;  ///< upper end, likewise
  /// Smallest change of ln(value) that takes a run of the new commit beyond the bound in 8 of 10
  /// cases, if runs scatter as the history does.
  double seen = 0;
  double ratio = 1;    ///< median of the runs / level, whatever the direction
  std::size_t history = 0;      ///< points of history used
  std::size_t runs = 0;         ///< usable runs of the new commit
  std::size_t beyond = 0;       ///< usable runs beyond the bound, on the side that decided
  std::size_t runs_wanted = 0;  ///< further runs needed if inconclusive
  std::size_t unusable = 0;     ///< points and runs left out: not finite or not positive

  /// Whether the history is long enough for lowest, highest and seen; else they are 0.
  [[nodiscard]] bool has_bounds() const { return highest > 0; }
};

/// `history`: values in the order of time, without the new commit. `runs`: all runs of the new
/// commit, in any order. Let b of k runs be beyond the bound on one side. Alarm if b ≥ needed and b
/// / k ≥ needed / runs. Inconclusive if b ≥ 1 and k < runs; else unchanged. Requires ≥ 1 run. If no
/// run is usable, the verdict is inconclusive and asks for `runs` runs.
NewPoint judge_new_point(std::span<const double> history, std::span<const double> runs,
                         Direction direction, const NewPointRule& rule = {});

}  // namespace dlscale::regression
