#pragma once
#include <array>
#include <span>
#include <vector>

#include "model/roofline/kernels/kernel_sample.hpp"

namespace dlscale::model {

/// The position of a case among others of its algorithm, as binary logarithms: the input and the
/// output channels of a group (backward_filter: C and K), the outputs' pixels of all images, the
/// taps of a filter, and the stride.
using LogSizes = std::array<double, 5>;
LogSizes log_sizes(const KernelCase& what);

/// The distance of a fitted time from the measured one.
struct Residual {
  LogSizes sizes{};
  double value = 0;       ///< ln (measured / fitted), within ± largest_residual
  double importance = 1;  ///< in (0, 1]
};
/// The cap on a residual of an outlier, as in TermFit::loss.
inline constexpr double largest_residual = 0.5;

/// Residuals around a case, each weighted by importance · exp(-d² / (2 reach²)) at a distance of d
/// octaves.
struct NearbyResiduals {
  double weight = 0;
  double weighted = 0;  ///< Σ weight · value
  /// Returns 0 where no residual is near. `prior` > 0.
  [[nodiscard]] double mean(double prior) const { return weighted / (prior + weight); }
};
NearbyResiduals nearby(std::span<const Residual> residuals, const LogSizes& at, double reach);

/// The residual of a fit by terms near a case, as the logarithm of a factor on its time:
///   c(x) = Σ wᵢ rᵢ / (prior + Σ wᵢ),   wᵢ = importanceᵢ exp(-|x - xᵢ|² / (2 reach²))
/// This is kernel regression [E. A. Nadaraya, Theory of Probability and its Applications 9 (1964)
/// 141; G. S. Watson, Sankhyā A 26 (1964) 359] with a residual of 0 that counts as `prior` samples
/// [D: ours]. It fades with the distance from the samples, so that the terms alone extrapolate. It
/// is never larger than the largest residual. Wrong where a library changes its kernel between
/// neighbours.
struct Correction {
  double reach = 1;  ///< octaves, > 0
  double prior = 1;  ///< samples, > 0
  std::vector<Residual> residuals;
  [[nodiscard]] double at(const LogSizes& sizes) const {
    return nearby(residuals, sizes, reach).mean(prior);
  }
};

}  // namespace dlscale::model
