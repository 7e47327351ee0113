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

bool is_time(Seconds value) {
  return std::isfinite(value.si()) && value >= Seconds();
}

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

void expect_spread(const Spread& spread) {
  EXPECT(is_time(spread.mean) && spread.mean > Seconds());
  EXPECT(is_time(spread.deviation));
  EXPECT(spread.shape != SpreadShape::exponential || spread.deviation <= spread.mean);
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

double draw(const RankSpread& spread, std::mt19937_64& random) {
  switch (spread.shape) {
    case SpreadShape::normal:
      return 1 + spread.deviation * normal(random);
    case SpreadShape::log_normal: {
      const double variance = std::log1p(spread.deviation * spread.deviation);
      return std::exp(std::sqrt(variance) * normal(random) - variance / 2);
    }
    case SpreadShape::exponential:
      return 1 - spread.deviation - spread.deviation * std::log(uniform(random));
  }
  fail_expectation("a shape of the enumeration");
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

double harmonic_number(std::int64_t n) {
  EXPECT(n >= 0);
  if (n < 100) {
    double sum = 0;
    for (std::int64_t i = n; i >= 1; --i) sum += 1 / static_cast<double>(i);
    return sum;
  }
  const auto N = static_cast<double>(n);
  const double square = 1 / (N * N);
  return std::log(N) + std::numbers::egamma + 0.5 / N - square / 12 + square * square / 120;
}

Seconds expected_slowest(const Spread& spread, std::int64_t workers) {
  EXPECT(workers >= 1);
  expect_spread(spread);
  switch (spread.shape) {
    case SpreadShape::normal:
      return spread.mean + spread.deviation * expected_normal_maximum(workers);
    case SpreadShape::log_normal: {
      const double variation = spread.deviation / spread.mean;
      const double s = std::sqrt(std::log1p(variation * variation));
      return spread.mean * expected_log_normal_maximum(workers, s);
    }
    case SpreadShape::exponential:
      return expected_kth(spread, workers, workers);
  }
  fail_expectation("a shape of the enumeration");
}

Seconds expected_slowest(std::span<const Seconds> measured, std::int64_t workers) {
  EXPECT(workers >= 1 && !measured.empty());
  EXPECT(std::all_of(measured.begin(), measured.end(), is_time));
  std::vector<Seconds> times(measured.begin(), measured.end());
  std::sort(times.begin(), times.end());
  const auto m = static_cast<double>(times.size());
  const auto N = static_cast<double>(workers);
  Seconds sum;
  double below = 0;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const double up_to = std::pow(static_cast<double>(i + 1) / m, N);
    sum += times[i] * (up_to - below);
    below = up_to;
  }
  return sum;
}

Seconds expected_kth(const Spread& spread, std::int64_t k, std::int64_t workers) {
  EXPECT(k >= 1 && k <= workers);
  EXPECT(spread.shape == SpreadShape::exponential);
  expect_spread(spread);
  const double tails = harmonic_number(workers) - harmonic_number(workers - k);
  return (spread.mean - spread.deviation) + spread.deviation * tails;
}

std::int64_t independent_units(std::int64_t workers, std::int64_t together) {
  EXPECT(workers >= 1 && together >= 1);
  return workers / together + (workers % together == 0 ? 0 : 1);
}

ComputeFactors::ComputeFactors(std::vector<double> by_rank)
    : ranks_(by_rank.size()), values_(std::move(by_rank)) {
  EXPECT(!values_.empty());
  EXPECT(std::ranges::all_of(values_, [](double f) { return std::isfinite(f) && f > 0; }));
}

double ComputeFactors::mean(int ranks, std::size_t iterations) const {
  EXPECT(ranks >= 1 && iterations >= 1);
  double sum = 0;
  for (std::size_t k = 0; k < iterations; ++k) {
    for (Rank rank = 0; rank < ranks; ++rank) sum += at(rank, k);
  }
  return sum / ranks / static_cast<double>(iterations);
}

double most_deviation(SpreadShape shape) {
  switch (shape) {
    case SpreadShape::normal:
      return 0.1;
    case SpreadShape::log_normal:
      return 10;
    case SpreadShape::exponential:
      return 1;
  }
  fail_expectation("a shape of the enumeration");
}

ComputeFactors drawn_factors(const RankSpread& spread, int ranks, std::size_t iterations,
                             std::uint64_t seed) {
  EXPECT(ranks >= 1 && iterations >= 1 && spread.together >= 1);
  EXPECT(spread.deviation >= 0 && spread.deviation <= most_deviation(spread.shape));
  std::mt19937_64 random(seed);
  ComputeFactors factors;
  factors.ranks_ = static_cast<std::size_t>(ranks);
  factors.values_.clear();
  factors.values_.reserve(factors.ranks_ * iterations);
  double unit = 1;
  for (std::size_t k = 0; k < iterations; ++k) {
    for (Rank rank = 0; rank < ranks; ++rank) {
      if (rank % spread.together == 0) unit = draw(spread, random);
      factors.values_.push_back(unit);
    }
  }
  return factors;
}

}  // namespace dlscale::model
