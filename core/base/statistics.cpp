#include "core/base/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "core/base/error.hpp"

namespace dlscale {
namespace {

std::vector<double> sorted_copy(std::span<const double> samples) {
  EXPECT(!samples.empty());
  EXPECT(std::all_of(samples.begin(), samples.end(), [](double x) { return std::isfinite(x); }));
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

double quantile_of_sorted(std::span<const double> sorted, double q) {
  const double position = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], position - static_cast<double>(below));
}

double median_of_sorted(std::span<const double> sorted) {
  const std::size_t middle = sorted.size() / 2;
  if (sorted.size() % 2 == 1) return sorted[middle];
  return std::midpoint(sorted[middle - 1], sorted[middle]);
}

/// Ranks (from 0) of the two samples that enclose the population median with at least 95 %
/// probability. The largest k with 2 · P(Binomial(n, 1/2) <= k) <= 0.05 gives ranks k and n - 1 -
/// k. For n < 6 no k exists and the result is the range.   [David & Nagaraja, Order Statistics,
/// 7.1]
std::pair<std::size_t, std::size_t> interval_ranks(std::size_t n) {
  const auto count = static_cast<double>(n);
  // Log of P(k successes); the plain value underflows.
  double log_probability = -count * std::log(2.0);
  double tail = 0;
  std::size_t lower = 0;
  for (std::size_t k = 0; k < n / 2; ++k) {
    tail += std::exp(log_probability);
    if (2 * tail > 0.05) break;
    lower = k;
    const auto successes = static_cast<double>(k);
    log_probability += std::log((count - successes) / (successes + 1));
  }
  return {lower, n - 1 - lower};
}

}  // namespace

Summary summarize(std::span<const double> samples) {
  const std::vector<double> sorted = sorted_copy(samples);
  Summary summary;
  summary.n = sorted.size();
  summary.min = sorted.front();
  summary.max = sorted.back();
  summary.median = median_of_sorted(sorted);
  const auto [low, high] = interval_ranks(sorted.size());
  summary.ci95_low = sorted[low];
  summary.ci95_high = sorted[high];
  std::vector<double> deviations(sorted.size());
  std::transform(sorted.begin(), sorted.end(), deviations.begin(),
                 [&](double x) { return std::abs(x - summary.median); });
  std::sort(deviations.begin(), deviations.end());
  summary.mad = median_of_sorted(deviations);
  return summary;
}

double median(std::span<const double> samples) {
  return median_of_sorted(sorted_copy(samples));
}

double quantile(std::span<const double> samples, double q) {
  EXPECT(q >= 0 && q <= 1);
  return quantile_of_sorted(sorted_copy(samples), q);
}

double relative_half_width(const Summary& summary) {
  const double half_width = (summary.ci95_high - summary.ci95_low) / 2;
  if (half_width == 0) return 0;
  if (summary.median == 0) return std::numeric_limits<double>::infinity();
  return half_width / std::abs(summary.median);
}

std::vector<double> slowest_rank(const std::vector<std::vector<double>>& samples) {
  EXPECT(!samples.empty());
  std::vector<double> slowest = samples.front();
  for (const std::vector<double>& rank : samples) {
    EXPECT(rank.size() == slowest.size());
    for (std::size_t i = 0; i < rank.size(); ++i) slowest[i] = std::fmax(slowest[i], rank[i]);
  }
  return slowest;
}

}  // namespace dlscale
