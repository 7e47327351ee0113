#pragma once
#include <span>

#include "core/base/units.hpp"
#include "model/parallel/stages/predict_stages.hpp"

namespace dlscale::model {

/// An iteration that was measured, beside its prediction from data sheets.
struct StagedPoint {
  int ranks = 1;
  Seconds measured;   ///< > 0
  Seconds predicted;  ///< > 0
  StageErrors errors;
  int micro_batch = 1;
  /// Whether it lies in the 90 % interval of its prediction.
  [[nodiscard]] bool is_within() const;
};
/// Requires `before.errors`.
StagedPoint staged_point(const StagedTraining& before, int ranks, Seconds measured);

/// Moves a prediction for `ranks` by measured points of its plan or of another, as constants of
/// transformers are moved (by_measured_points()).
///
/// The measured plan is multiplied by measured_factor(), so that each point is met. Another plan
/// shares its computing alone: that is u deviations of StageErrors::computing slower, with the
/// least
///   Σ 2 (√(1 + z²) − 1) + u²,   z = (ln(measured / predicted) − u s) / hypot(ν, o)
/// over points, |u| ≤ greatest_move. s and o are deviations of computing and of the rest, ν is
/// noise_at() the distance of micro-batches. The speed-up over one device stays, since what slows
/// the one slows the other.
///
/// Errors follow change_by_points(). What u leaves of ln(measured / predicted) is unexplained; for
/// the measured plan, s is the deviation of all its errors. [derived] Requires points, each of its
/// own number of ranks, and `training.errors`.
void meet_points(std::span<const StagedPoint> points, int ranks, bool is_measured_plan,
                 StagedTraining& training);

}  // namespace dlscale::model
