#pragma once
#include <cmath>

namespace dlscale {

/// The 95 % quantile of the normal distribution, in standard deviations.
inline constexpr double normal_quantile_95 = 1.6448536269514722;

/// The share of the normal distribution that lies below so many standard deviations: 0 … 1.
inline double normal_share_below(double deviations) {
  constexpr double root_half = 0.70710678118654752;
  return 0.5 * std::erfc(-deviations * root_half);
}

}  // namespace dlscale
