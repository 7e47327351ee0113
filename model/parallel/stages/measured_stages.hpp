#pragma once
#include <span>

#include "core/base/units.hpp"
#include "core/parallel/plan.hpp"
#include "model/parallel/stages/predict_stages.hpp"
#include "model/parallel/uncertain/point_range.hpp"

namespace dlscale::model {

/// An iteration that was measured, beside its prediction from data sheets.
struct StagedPoint {
  parallel_time::PlanScale scale;
  Seconds measured;     ///< > 0
  Seconds predicted;    ///< > 0
  double surprise = 0;  ///< parallel_time::surprise_of() it
};
/// `before` predicts the plan. Requires its errors.
StagedPoint staged_point(const parallel::ParallelPlan& plan, const StagedTraining& before,
                         Seconds measured);

/// Whether two plans on as many ranks, as they were predicted, are one training however they are
/// written: all but their texts of batches and cuts is alike, and both took the same numbers.
bool is_same_training(const parallel::ParallelPlan& one, const StagedTraining& one_predicted,
                      const parallel::ParallelPlan& other, const StagedTraining& other_predicted);

/// Moves the prediction of a plan, and its errors, by measured points of it or of another, as times
/// of transformers are moved (parallel_time::change_by_points()). The speed-up over one device is
/// left as it was: points do not say how much of a change that device shares. Requires points, each
/// of its own number of ranks, and `training.errors`.
void meet_points(std::span<const StagedPoint> points, const parallel::ParallelPlan& plan,
                 bool is_measured_plan, StagedTraining& training);

}  // namespace dlscale::model
