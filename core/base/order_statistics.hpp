#pragma once
#include <cstdint>

namespace dlscale {

/// Means of the largest of several independent numbers of one distribution.

/// e_N, the mean of the largest of N ≥ 1 standard normal numbers:
///   e_N = ∫ x N φ(x) Φ(x)^(N-1) dx ≤ √(2 ln N)
/// It uses the trapezoidal rule with steps of 1/64 from -12 to 12. For so smooth an integrand the
/// error is below 1e-10 (tested for N up to 10^6 against closed forms and another integral).
double expected_normal_maximum(std::int64_t n);

/// The mean of the largest of N ≥ 1 log-normal numbers over their mean, for a deviation s ≥ 0 of
/// the logarithm:
///   ∫ N φ(y) Φ(y + s)^(N-1) dy    [D, derived: x = y + s makes the factor of e^(s x) vanish]
double expected_log_normal_maximum(std::int64_t n, double s);

}  // namespace dlscale
