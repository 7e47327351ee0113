#include "regression/statistics/sign_test.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "core/base/error.hpp"

namespace dlscale::regression {

double coin_at_least(std::size_t n, std::size_t s) {
  EXPECT(n <= 1000);
  if (s == 0) return 1;
  double term = std::ldexp(1.0, -static_cast<int>(n));  // P(S = n)
  double sum = 0;
  for (std::size_t k = n; k >= s; --k) {
    sum += term;
    term *= static_cast<double>(k) / static_cast<double>(n - k + 1);
  }
  return std::min(sum, 1.0);
}

double hits_at_least(std::size_t n, std::size_t hits, double share) {
  double term = std::pow(1 - share, static_cast<double>(n));  // of no hit
  double fewer = 0;
  for (std::size_t i = 0; i < hits; ++i) {
    fewer += term;
    term *= static_cast<double>(n - i) / static_cast<double>(i + 1) * share / (1 - share);
  }
  return 1 - fewer;
}

Bounds sign_test_bounds(std::span<const double> sorted, double alpha) {
  const std::size_t n = sorted.size();
  // d_(c + 1) bounds if P(S ≤ c) = P(S ≥ n − c) ≤ alpha.
  std::size_t bounding = 0;
  while (2 * bounding < n && coin_at_least(n, n - bounding) <= alpha) ++bounding;
  if (bounding == 0) return {};
  return {sorted[bounding - 1], sorted[n - bounding]};
}

double sign_test_p_above(std::span<const double> sorted, double value) {
  const auto above = std::distance(std::ranges::upper_bound(sorted, value), sorted.end());
  return coin_at_least(sorted.size(), static_cast<std::size_t>(above));
}

double sign_test_p_below(std::span<const double> sorted, double value) {
  const auto below = std::distance(sorted.begin(), std::ranges::lower_bound(sorted, value));
  return coin_at_least(sorted.size(), static_cast<std::size_t>(below));
}

}  // namespace dlscale::regression
