#pragma once
#include <span>

#include "core/base/units.hpp"
#include "model/parallel/stages/predict_stages.hpp"

namespace dlscale::model {

/// An iteration that was measured, beside its prediction.
struct StagedPoint {
  int ranks = 1;
  Seconds measured;   ///< > 0
  Seconds predicted;  ///< > 0
};

/// Multiplies all times of a prediction for `ranks` by measured / predicted, log_interpolated()
/// between points, so that each point is met. The speed-up over one device stays, since what slows
/// the one slows the other.
///
/// Errors shrink by √(1 - ρ²), ρ = correlation · correlation_left^d by MeasuredConstants, with d
/// doublings of ranks to the nearest point. Of the measured plan itself they are those of
/// repetitions at a point, ± 3 %, and within a doubling from there, d of their variance adds up.
/// [ρ as for transformers, but other plans are scaled too, and a point that contradicts the
/// prediction does not widen the interval] Requires points, each of its own number of ranks.
void meet_points(std::span<const StagedPoint> points, int ranks, bool is_measured_plan,
                 StagedTraining& training);

}  // namespace dlscale::model
