#pragma once
#include <span>
#include <vector>

#include "core/parallel/plan.hpp"
#include "model/parallel/answer/answer.hpp"
#include "model/parallel/uncertain/measured_points.hpp"
#include "model/parallel/uncertain/point_range.hpp"

namespace dlscale::model::parallel_time {

/// Measured iterations of a plan of the user's own, on any numbers of replicas.
struct MeasuredPlan {
  parallel::ParallelPlan plan = {};        ///< as typed
  std::vector<MeasuredPoint> points = {};  ///< each of its own number of GPUs; may be empty
  /// Whether a plan without faults is this training or that of a point, with as many replicas as it
  /// has itself (is_same_training()).
  [[nodiscard]] bool is(const ParallelQuestion& question, const Family& family,
                        const parallel::ParallelPlan& other) const;
};

/// Whether two plans with equal replicas are one training, however they are written: by sizes of
/// batches, shards, layers of stages, bytes of states and order of ranks, by the schedule, and by
/// what the family does unless asked. Requires `one` without faults.
bool is_same_training(const ParallelQuestion& question, const Family& family,
                      const parallel::ParallelPlan& one, const parallel::ParallelPlan& other);

/// A setting as measured points suggest it for a plan. The caller applies `change` to intervals.
struct SettingAtPoints {
  Setting setting;  ///< with the change's factor as its measured_factor
  PointsChange change = {};
};

/// Moves the constants of a setting, whose links are those of the plan's GPUs, by measured points
/// of the plan or of another (by_measured_points()). What they leave of the points changes the plan
/// by change_by_points(). Requires points, each of its own number of GPUs.
SettingAtPoints setting_at_points(const ParallelTimeFile& file, const Setting& setting,
                                  std::span<const MeasuredPoint> points, const PlanSizes& plan,
                                  bool is_measured_plan);

}  // namespace dlscale::model::parallel_time
