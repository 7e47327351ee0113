#pragma once
#include <span>

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
  double strength = 4;  ///< of the prior, > 0
  double scale = 0.03;  ///< of a residual, > 0
  int rounds = 25;
  Terms terms = Terms().set();  ///< whose parameters are fitted: the others stay as they start
};

/// Parameters that make
///   Σ w 2 (√(1 + z²) − 1) + strength Σ (ln(p / median) / spread)²,  z = ln(t / t_measured) / scale
/// least: squared where a residual is small, absolute where it is large, so that a few trainings
/// that the model does not understand bend it little. By Levenberg and Marquardt on ln p from
/// `start`, until a round gains less than 1e-4 of the sum; the best seen after `rounds`. Equal
/// input gives equal results.
Parameters fit(std::span<const Observed> observed, const Parameters& start,
               const FitSettings& settings = {});

/// That sum, the second part over the parameters that are fitted.
double fit_loss(std::span<const Observed> observed, const Parameters& parameters,
                const FitSettings& settings = {});

}  // namespace dlscale::model::scaling
