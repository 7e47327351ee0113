#pragma once
#include <span>
#include <string>
#include <vector>

#include "regression/statistics/log_rounding.hpp"

namespace dlscale::report {

/// Times of one cell: samples[repeat][i], where each repeat is a separate launch.
using Repeats = std::vector<std::vector<double>>;

/// B / A with a 95 % interval, and the method that found it.
struct Ratio {
  double value = 1;
  double low = 1;
  double high = 1;
  std::string method;
  /// p_larger: probability of so large a ratio by chance if the true ratio is at most 1 + margin.
  /// p_smaller: of so small a one if it is at least 1 / (1 + margin). Both are ≤ 2.5 % if the
  /// interval lies beyond that limit; 1 without an interval.
  double p_larger = 1;
  double p_smaller = 1;
};

/// Ratio of medians with an interval. Iterations of one launch resemble each other more than
/// launches do, so launches are the samples.
///
/// From 5 repeats on both sides: the median of all ratios of run medians (Hodges & Lehmann 1963).
/// Its interval is exact and distribution-free (Moses' interval from the Mann-Whitney
/// distribution). From 2, or where ranks allow no interval so sure: Welch's t interval of the means
/// of log medians, which is that of geometric means. It misses in 3 to 6 % of cases where both
/// sides vary alike, and in up to 10 % where 2 launches vary three times as much as 5 others
/// (simulated). With one repeat: a bootstrap that draws blocks of successive samples. It misses the
/// variation between launches and is too narrow, which `method` says. Its p is at least one draw in
/// a thousand, so few rows stand out among many.
///
/// `rounding` is what the digits of the samples allow of ln(B / A): the interval is wider by it,
/// and p is that of the nearest ratio that it allows.
///
/// Deterministic; swapping A and B inverts the ratio. Requires positive samples, ≥ 1 on each side.
/// One launch and fewer than 5 samples on a side give no interval but that of rounding, and
/// `method` is empty. `margin` ≥ 0. Intervals of several `comparisons` hold together with at least
/// 95 %, as each misses the more rarely (Bonferroni); p is that of one alone.
Ratio ratio_of_medians(const Repeats& a, const Repeats& b, double margin = 0,
                       const regression::LogRounding& rounding = {}, int comparisons = 1);

/// Number k of the smallest, and of the largest, among n · m pairwise differences that lie outside
/// the interval of at least 95 %. It is the largest k with P(U ≤ k) ≤ 2.5 % for Mann-Whitney's U.
/// Exact up to n m = 2500, normal approximation beyond. Requires n, m ≥ 4.
int mann_whitney_trim(int n, int m);

}  // namespace dlscale::report
