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
};

/// Iterations of one launch resemble each other more than launches do, so launches are what counts:
/// from 5 repeats on both sides, the median of all ratios of run medians with the exact
/// distribution-free interval that goes with it (Hodges & Lehmann 1963; Moses' interval from the
/// Mann-Whitney distribution). With fewer, a bootstrap that draws repeats and, within each, blocks
/// of successive samples; with one repeat that interval knows nothing of how launches differ and is
/// too narrow, which `method` says. Deterministic; swapping A and B inverts it.
/// Requires positive samples, ≥ 1 on each side. Fewer than 5 samples on a side give no interval:
/// low = high = value and `method` is empty.
Ratio ratio_of_medians(const Repeats& a, const Repeats& b);

/// How many of the smallest, and as many of the largest, of n · m pairwise differences lie outside
/// the interval of at least 95 %: the largest k with P(U ≤ k) ≤ 2.5 % for Mann-Whitney's U.
/// Requires n, m ≥ 4.
int mann_whitney_trim(int n, int m);

}  // namespace dlscale::report
