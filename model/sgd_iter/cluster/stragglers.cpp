#include "model/sgd_iter/cluster/stragglers.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
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

}  // namespace dlscale::model
