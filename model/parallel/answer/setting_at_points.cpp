#include "model/parallel/answer/setting_at_points.hpp"

#include <algorithm>

namespace dlscale::model::parallel_time {
namespace {

PlanScale scale_of(const PlanSizes& plan, double gpus) {
  return {gpus, plan.micro_batch, plan.tensor * plan.context, plan.stages};
}

}  // namespace

bool MeasuredPlan::is(parallel::ParallelPlan other) const {
  const auto is_alike = [&](const parallel::ParallelPlan& one) {
    other.data = one.data;
    return other == one;
  };
  return is_alike(plan) || std::ranges::any_of(points, is_alike, &MeasuredPoint::schedule);
}

SettingAtPoints setting_at_points(const ParallelTimeFile& file, const Setting& setting,
                                  std::span<const MeasuredPoint> points, const PlanSizes& plan,
                                  bool is_measured_plan) {
  const Links& links = setting.collectives.links();
  const TimeConstants moved = by_measured_points(file, setting, points, plan.micro_batch);
  std::vector<PredictedPoint> predicted;
  predicted.reserve(points.size());
  for (const MeasuredPoint& point : points) {
    predicted.push_back({point.links.gpus, point.seconds, predicted_seconds(setting, moved, point),
                         point.surprise,
                         likeness(file.measured, scale_of(point.plan, point.links.gpus),
                                  scale_of(plan, links.gpus))});
  }
  SettingAtPoints at{with_constants(setting, moved, links),
                     change_by_points(file.measured, predicted, links.gpus, is_measured_plan)};
  at.setting.measured_factor = at.change.factor;
  return at;
}

}  // namespace dlscale::model::parallel_time
