#include "model/sgd_iter/cluster/stragglers.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>
#include <utility>
#include <vector>

#include "core/base/error.hpp"

namespace dlscale::model {
namespace {

double normal_density(double x) {
  return std::exp(-0.5 * x * x) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
}

/// ln Φ(x), exact to rounding in both tails.
double log_normal_distribution(double x) {
  const double tail = 0.5 * std::erfc(std::abs(x) / std::numbers::sqrt2);
  return x < 0 ? std::log(tail) : std::log1p(-tail);
}

/// ∫ f(x) φ(x) dx by the trapezoidal rule; beyond 12 φ is below 3e-32.
template <class Function>
double mean_over_normal(const Function& f) {
  constexpr int steps_in_one = 64;
  constexpr int most = 12 * steps_in_one;
  double sum = 0;
  for (int i = -most; i <= most; ++i) {
    const double x = static_cast<double>(i) / steps_in_one;
    sum += f(x) * normal_density(x);
  }
  return sum / steps_in_one;
}

/// A number in (0, 1], of 53 bits. It avoids the library's distributions, which differ between
/// libraries.
double uniform(std::mt19937_64& random) {
  return static_cast<double>((random() >> 11U) + 1) * 0x1p-53;
}

double normal(std::mt19937_64& random) {
  const double radius = std::sqrt(-2 * std::log(uniform(random)));
  return radius * std::cos(2 * std::numbers::pi * uniform(random));
}

}  // namespace

double expected_normal_maximum(std::int64_t n) {
  EXPECT(n >= 1);
  const auto N = static_cast<double>(n);
  return mean_over_normal(
      [N](double x) { return x * N * std::exp((N - 1) * log_normal_distribution(x)); });
}

double expected_log_normal_maximum(std::int64_t n, double s) {
  EXPECT(n >= 1 && std::isfinite(s) && s >= 0);
  const auto N = static_cast<double>(n);
  return mean_over_normal(
      [N, s](double y) { return N * std::exp((N - 1) * log_normal_distribution(y + s)); });
}

Seconds expected_slowest(Seconds mean, const RankSpread& spread, std::int64_t workers) {
  EXPECT(std::isfinite(mean.si()) && mean > Seconds());
  EXPECT(std::isfinite(spread.deviation) && spread.deviation >= 0);
  const double s = std::sqrt(std::log1p(spread.deviation * spread.deviation));
  return mean * expected_log_normal_maximum(workers, s);
}

ComputeFactors::ComputeFactors(std::size_t ranks, std::vector<double> values)
    : ranks_(ranks), values_(std::move(values)) {
  EXPECT(!values_.empty());
  EXPECT(std::ranges::all_of(values_, [](double f) { return std::isfinite(f) && f > 0; }));
}

ComputeFactors drawn_factors(const RankSpread& spread, int ranks, std::size_t iterations,
                             std::uint64_t seed) {
  EXPECT(ranks >= 1 && iterations >= 1);
  EXPECT(spread.deviation >= 0 && spread.deviation <= most_deviation);
  std::mt19937_64 random(seed);
  const double variance = std::log1p(spread.deviation * spread.deviation);
  std::vector<double> values(static_cast<std::size_t>(ranks) * iterations);
  for (double& value : values) {
    value = std::exp(std::sqrt(variance) * normal(random) - variance / 2);
  }
  return {static_cast<std::size_t>(ranks), std::move(values)};
}

}  // namespace dlscale::model
