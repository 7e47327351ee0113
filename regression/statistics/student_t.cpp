#include "regression/statistics/student_t.hpp"

#include <cmath>

#include "core/base/error.hpp"

namespace dlscale::regression {
namespace {

/// The m-th coefficient of the continued fraction, m ≥ 1.
double coefficient(int m, double a, double b, double x) {
  const int k = m / 2;
  if (m % 2 == 0) return k * (b - k) * x / ((a + 2 * k - 1) * (a + 2 * k));
  return -(a + k) * (a + b + k) * x / ((a + 2 * k) * (a + 2 * k + 1));
}

/// 1 / (1 + d_1 / (1 + d_2 / …)) by Lentz's method.
double fraction(double a, double b, double x) {
  constexpr double tiny = 1e-300;
  constexpr int most_terms = 1000;
  double c = 1;
  double d = 0;
  double value = 1;
  for (int m = 1; m <= most_terms; ++m) {
    const double numerator = coefficient(m, a, b, x);
    d = 1 + numerator * d;
    c = 1 + numerator / c;
    if (std::abs(d) < tiny) d = tiny;
    if (std::abs(c) < tiny) c = tiny;
    d = 1 / d;
    const double change = c * d;
    value *= change;
    if (std::abs(change - 1) < 1e-16) break;
  }
  return 1 / value;
}

/// I_x(a, b). The fraction converges fast for x < (a + 1) / (a + b + 2); symmetry covers the rest.
double incomplete_beta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) +
                                a * std::log(x) + b * std::log1p(-x));
  if (x < (a + 1) / (a + b + 2)) return front * fraction(a, b, x) / a;
  return 1 - front * fraction(b, a, 1 - x) / b;
}

}  // namespace

double student_t_probability(double t, double freedom) {
  EXPECT(freedom > 0);
  const double both = incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t));
  return t > 0 ? 1 - both / 2 : both / 2;
}

double student_t_quantile(double p, double freedom) {
  EXPECT(p > 0 && p < 1);
  if (p < 0.5) return -student_t_quantile(1 - p, freedom);
  double low = 0;
  double high = 1;
  while (student_t_probability(high, freedom) < p && high < 1e300) high *= 2;
  for (int i = 0; i < 200 && high - low > 1e-13 * high; ++i) {
    const double middle = (low + high) / 2;
    (student_t_probability(middle, freedom) < p ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace dlscale::regression
