#pragma once
#include <span>

namespace dlscale::regression {

/// Estimates of location and shift [Hodges & Lehmann 1963]: robust against 29 % outliers, nearly as
/// efficient as a mean on normal data.

/// One sample: median of the Walsh averages (d_i + d_j) / 2, i ≤ j. Requires ≥ 1, sorted.
double hodges_lehmann(std::span<const double> averages);

/// Two samples: median of all b_j − a_i. Requires ≥ 1 value in each; uses n · m of memory.
double hodges_lehmann_shift(std::span<const double> a, std::span<const double> b);

}  // namespace dlscale::regression
