#pragma once
#include <vector>

#include "core/base/units.hpp"

namespace dlscale::model {

/// ln(measured / closed form) of messages of one size.
struct FormRatio {
  Bytes size;
  double log_ratio = 0;
};

/// What times of one layout are beside the closed form that was fitted to all layouts. Where a
/// library changes its algorithm with the size, the form knows where the times jump, and what it
/// lacks (noise that stays for the whole of a measurement, cores that were pinned) changes little
/// from one size to the next:
///   T(m) = F(m) e^r(m),   r(m) = Σ_i w_i r_i / (1 + Σ_i w_i),   w_i = 2^(-|lg(m / m_i)| / 2)
/// with r_i of the sizes measured: a weight that halves with every two octaves, and one sample that
/// says r = 0. [D, derived: a weighted mean with a prior]
struct FormRatios {
  std::vector<FormRatio> at;  ///< by size; empty: the times of the layout stand for themselves
  /// Of the errors in the logarithm with which the others foretell each of `at`: their root mean
  /// square. A single measurement is as far from the prediction.
  double deviation = 0;
  /// r(m); 0 without any.
  [[nodiscard]] double log_ratio(Bytes m) const;
};

/// With its deviation.
FormRatios form_ratios(std::vector<FormRatio> at);

}  // namespace dlscale::model
