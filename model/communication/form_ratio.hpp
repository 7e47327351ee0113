#pragma once
#include <vector>

#include "core/base/units.hpp"

namespace dlscale::model {

/// ln(measured / closed form) of messages of one size.
struct FormRatio {
  Bytes size;
  double log_ratio = 0;
};

/// Ratios of the times of one layout to the closed form fitted to all layouts. Where a library
/// changes its algorithm with the size, the form knows where the times jump. What it lacks (noise
/// that lasts for a whole measurement, pinned cores) changes little from one size to the next:
///   T(m) = F(m) e^r(m),   r(m) = Σ_i w_i r_i / (1 + Σ_i w_i),   w_i = 2^(-|lg(m / m_i)| / 2)
/// with r_i of the sizes measured: weights halve with every two octaves, and one further sample has
/// r = 0. [D, derived: a weighted mean with a prior]
struct FormRatios {
  std::vector<FormRatio> at;  ///< by size; empty: the times of the layout stand alone
  /// Root mean square error in the logarithm when each of `at` is predicted from the others. A
  /// single measurement counts with its distance from the prediction.
  double deviation = 0;
  /// r(m); 0 without any.
  [[nodiscard]] double log_ratio(Bytes m) const;
};

/// Ratios with their deviation.
FormRatios form_ratios(std::vector<FormRatio> at);

}  // namespace dlscale::model
