#pragma once
#include <cstddef>
#include <optional>
#include <span>

#include "regression/statistics/direction.hpp"
#include "regression/statistics/verdict.hpp"

namespace dlscale::report {

/// One new point against the history of its level.
///
///   s · (ln y − median(h)) > max( ln(1 + δ), t(p, n − 1) · 1.4826 MAD(h) · (1 + 0.8 / n) · √(1 + 1
///   / n) )
///
/// h = ln of the n points since the last accepted change, s = worse_sign(direction), t = quantile
/// of Student's distribution: a prediction interval with robust centre and spread; 1.4826 makes the
/// MAD a standard deviation for normal data, 1 + 0.8 / n mends its bias for few points, √(1 + 1 /
/// n) is the centre's own error. A hit wants two fresh runs of the same commit; an alarm is raised
/// if at least two of three are beyond. Where it is wrong: a metric that depends on which processor
/// it got has no one level; only the key of a series can tell those apart.
struct NewPointRule {
  double margin = 0.02;     ///< δ
  double quantile = 0.995;  ///< p
  std::size_t least = 10;   ///< points of history, below which nothing is said
  std::size_t most = 64;    ///< the last of them that are used
  std::size_t runs = 3;     ///< of the new commit, that decide a hit
  std::size_t needed = 2;   ///< of those, beyond the bound
};

struct NewPoint {
  /// unchanged, regressed, improved, or inconclusive: beyond the bound, and `runs_wanted` more runs
  /// of the same commit are needed. Nothing: too little history.
  std::optional<Verdict> verdict;
  double level = 0;   ///< median of the history, unit of the values
  double lowest = 0;  ///< values between these two are as before (unit of the values)
  double highest = 0;
  double ratio = 1;             ///< median of the runs / level; not turned by the direction
  std::size_t history = 0;      ///< points used
  std::size_t runs = 0;         ///< usable runs of the new commit
  std::size_t beyond = 0;       ///< of those, on the side that decided
  std::size_t runs_wanted = 0;  ///< where it is inconclusive
  std::size_t unusable = 0;     ///< points and runs that are not finite or not positive: left out
};

/// `history`: values in the order of time, without the new commit. `runs`: all runs of the new
/// commit, in any order. With k runs of which b are beyond on one side: alarm if b ≥ needed and
/// b / k ≥ needed / runs; inconclusive if b ≥ 1 and k < runs; else
/// unchanged.
/// Requires ≥ 1 run. If no run is usable the verdict is inconclusive and wants `runs` runs.
NewPoint judge_new_point(std::span<const double> history, std::span<const double> runs,
                         Direction direction, const NewPointRule& rule = {});

}  // namespace dlscale::report
