#pragma once
#include <span>
#include <vector>

#include "model/published/scaling/time/parameters.hpp"
#include "model/published/scaling/time/scaled_time.hpp"

namespace dlscale::model::scaling {

/// A training whose iteration was measured.
struct Observed {
  const ScalingModel* model = nullptr;
  Seconds iteration = {};
  double weight = 1;  ///< > 0
};

struct FitSettings {
  double strength = 4;  ///< weight of the prior, > 0
  double scale = 0.03;  ///< scale of a residual, > 0
  int rounds = 25;
  /// Terms whose parameters are fitted; other parameters keep their start.
  Terms terms = Terms().set();
};

/// The parameters with the least
///   Σ w 2 (√(1 + z²) − 1) + strength Σ (ln(p / median) / spread)²,  z = ln(t / t_measured) / scale
/// The loss is squared for a small residual and absolute for a large one, so that outliers bend the
/// fit little. Levenberg and Marquardt's method on ln p runs from `start` until a round gains less
/// than 1e-4 of the sum, or for `rounds`. The best parameters seen count. Equal input gives equal
/// results.
Parameters fit(std::span<const Observed> observed, const Parameters& start,
               const FitSettings& settings = {});

/// The sum that fit() minimises; its second part covers the fitted parameters.
double fit_loss(std::span<const Observed> observed, const Parameters& parameters,
                const FitSettings& settings = {});

}  // namespace dlscale::model::scaling
