#pragma once
#include <array>
#include <span>
#include <vector>

#include "model/roofline/kernels/kernel_sample.hpp"

namespace dlscale::model {

/// Where a case stands among others of its algorithm: binary logarithms of the channels that are
/// summed and of those that are made, of a group (of backward_filter: C and K), of the outputs'
/// pixels of all images, of the taps of a filter and of the stride.
using LogSizes = std::array<double, 5>;
LogSizes log_sizes(const KernelCase& what);

/// How far a fitted time was from the measured one.
struct Residual {
  LogSizes sizes{};
  double value = 0;       ///< ln (measured / fitted), within ± largest_residual
  double importance = 1;  ///< in (0, 1]
};
/// What a wild sample counts as, as in TermFit::loss.
inline constexpr double largest_residual = 0.5;

/// Residuals around a case, each by importance · exp(-d² / (2 reach²)) at a distance d in octaves.
struct NearbyResiduals {
  double weight = 0;
  double weighted = 0;  ///< Σ weight · value
  /// 0 where nothing is near. `prior` > 0.
  [[nodiscard]] double mean(double prior) const { return weighted / (prior + weight); }
};
NearbyResiduals nearby(std::span<const Residual> residuals, const LogSizes& at, double reach);

/// What a fit by terms has left over near a case, as the logarithm of a factor on its time:
///   c(x) = Σ wᵢ rᵢ / (prior + Σ wᵢ),   wᵢ = importanceᵢ exp(-|x - xᵢ|² / (2 reach²))
/// which is kernel regression [E. A. Nadaraya, Theory of Probability and its Applications 9 (1964)
/// 141; G. S. Watson, Sankhyā A 26 (1964) 359] with a prior of 0 worth so many samples [D: ours].
/// It fades away from what was measured, so that extrapolation is left to the terms, and is never
/// larger than the largest residual. Wrong where a library changes its kernel between neighbours.
struct Correction {
  double reach = 1;  ///< octaves, > 0
  double prior = 1;  ///< samples, > 0
  std::vector<Residual> residuals;
  [[nodiscard]] double at(const LogSizes& sizes) const {
    return nearby(residuals, sizes, reach).mean(prior);
  }
};

}  // namespace dlscale::model
