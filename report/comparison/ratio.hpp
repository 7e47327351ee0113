#pragma once
#include <span>
#include <string>
#include <vector>

namespace dlscale::report {

/// Times of one cell: samples[repeat][i], each repeat a launch of its own.
using Repeats = std::vector<std::vector<double>>;

/// B / A with a 95 % interval, and how it was found.
struct Ratio {
  double value = 1;
  double low = 1;
  double high = 1;
  std::string method;
  /// How likely so much is by chance where the true ratio is at most 1 + margin, and where it is at
  /// least 1 / (1 + margin). Both ≤ 2.5 % if the interval lies beyond that limit; 1 without one.
  double p_larger = 1;
  double p_smaller = 1;
};

/// Iterations of one launch resemble each other more than launches do, so launches are what counts:
/// from 5 repeats on both sides, the median of all ratios of run medians with the exact
/// distribution-free interval that goes with it (Hodges & Lehmann 1963; Moses' interval from the
/// Mann-Whitney distribution). With fewer, a bootstrap that draws repeats and, within each, blocks
/// of successive samples; with one repeat that interval knows nothing of how launches differ and is
/// too narrow, which `method` says, and p is no less than one draw of the thousand, so that few
/// rows stand out among many. Deterministic; swapping A and B inverts it. Requires positive
/// samples, ≥ 1 on each side. Fewer than 5 samples on a side give no interval: low = high = value
/// and `method` is empty. `margin` ≥ 0.
Ratio ratio_of_medians(const Repeats& a, const Repeats& b, double margin = 0);

/// How many of the smallest, and as many of the largest, of n · m pairwise differences lie outside
/// the interval of at least 95 %: the largest k with P(U ≤ k) ≤ 2.5 % for Mann-Whitney's U. Exact
/// up to n m = 2500, by the normal approximation beyond. Requires n, m ≥ 4.
int mann_whitney_trim(int n, int m);

}  // namespace dlscale::report
