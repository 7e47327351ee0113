#pragma once

namespace dlscale::regression {

/// P(T ≤ t) of Student's distribution with `freedom` degrees of freedom (> 0), by the regularised
/// incomplete beta function [Abramowitz & Stegun 26.7.1; its continued fraction DLMF 8.17.22]:
/// P(|T| > t) = I_x(freedom / 2, 1 / 2) with x = freedom / (freedom + t²).
double student_t_probability(double t, double freedom);

/// The t with P(T ≤ t) = p, 0 < p < 1, to 12 digits.
double student_t_quantile(double p, double freedom);

}  // namespace dlscale::regression
