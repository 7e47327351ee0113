#pragma once
#include <cstddef>
#include <span>
#include <vector>

namespace dlscale {

/// Description of a sample without assuming a distribution. Fields have the unit of the samples.
struct Summary {
  double median = 0;
  double mad = 0;        ///< median absolute deviation from the median (not scaled)
  double ci95_low = 0;   ///< 95 % interval of the median from order statistics (binomial ranks)
  double ci95_high = 0;  ///< for n < 6 no 95 % interval exists: the range
  double min = 0;
  double max = 0;
  std::size_t n = 0;
};

/// Requires ≥ 1 finite sample.
Summary summarize(std::span<const double> samples);
double median(std::span<const double> samples);
/// Linear interpolation between order statistics, 0 ≤ q ≤ 1 (Hyndman & Fan type 7).
double quantile(std::span<const double> samples, double q);
/// Half width of the 95 % interval divided by the median, for stopping criteria.
double relative_half_width(const Summary& summary);

/// Per sample, the maximum over ranks, because a step is as slow as its last rank. The summary of a
/// series describes these values. Requires ≥ 1 rank and the same number of samples on each.
std::vector<double> slowest_rank(const std::vector<std::vector<double>>& samples);

}  // namespace dlscale
