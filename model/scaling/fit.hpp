#pragma once
#include <span>

#include "model/scaling/parameters.hpp"
#include "model/scaling/scaled_time.hpp"

namespace dlscale::model::scaling {

/// A training whose iteration was measured.
struct Observed {
  const ScalingModel* model = nullptr;
  Seconds iteration = {};
  double weight = 1;  ///< > 0
};

/// Parameters that make
///   Σ w 2 (√(1 + z²) − 1) + strength Σ (ln(p / median) / spread)²,  z = ln(t / t_measured) / 0.03
/// least, by Levenberg and Marquardt on ln p from `start`. Gives the best seen after `rounds`.
struct FitSettings {
  double strength = 4;  ///< of the prior, > 0
  double scale = 0.03;  ///< of a residual, > 0
  int rounds = 25;
};
Parameters fit(std::span<const Observed> observed, const Parameters& start,
               const FitSettings& settings = {});

}  // namespace dlscale::model::scaling
