#include "core/base/order_statistics.hpp"

#include <cmath>
#include <numbers>

#include "core/base/error.hpp"

namespace dlscale {
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

}  // namespace dlscale
