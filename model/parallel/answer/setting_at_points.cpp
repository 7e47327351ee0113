#include "model/parallel/answer/setting_at_points.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>

namespace dlscale::model::parallel_time {
namespace {

PlanScale scale_of(const PlanSizes& plan, double gpus) {
  return {gpus, plan.micro_batch, plan.tensor * plan.context, plan.stages};
}

/// Axes with one rank last: they have no neighbours to lie near.
parallel::AxisOrder order_of_groups(const parallel::ParallelPlan& plan) {
  parallel::AxisOrder order = parallel::all_axes;
  const auto is_group = [&](parallel::Axis axis) { return parallel::ranks_along(axis, plan) > 1; };
  const auto groups_end = std::ranges::copy_if(plan.order, order.begin(), is_group).out;
  std::ranges::remove_copy_if(parallel::all_axes, groups_end, is_group);
  return order;
}

/// The one text of a training that all its plans have.
parallel::ParallelPlan usual_text(const ParallelQuestion& question, const Family& family,
                                  parallel::ParallelPlan plan) {
  const parallel::PlanBatches batches = parallel::batches_of(plan, facts_of(question));
  plan.micro_batch = static_cast<int>(batches.micro_batch.value_or(1));
  plan.micro_batches = static_cast<int>(batches.micro_batches);
  plan.compile = is_compiled(family, plan.compile, question.framework);
  plan.tensor_overlap = overlaps_tensor(family, plan);
  plan.bytes = state_bytes_of(family, plan, question.precision);
  plan.optimizer = {};
  plan.order = order_of_groups(plan);
  if (plan.stages == 1) plan.schedule = parallel::ParallelPlan{}.schedule;
  if (std::ranges::adjacent_find(plan.stage_layers, std::ranges::not_equal_to()) ==
      plan.stage_layers.end()) {
    plan.stage_layers.clear();
  }
  const int replicas = plan.data * plan.context;
  const bool has_no_others = plan.zero_group == 1 || (replicas == 1 && plan.zero < 3);
  if (has_no_others) plan.zero = 0;
  if (plan.zero == 0 || plan.zero_group == replicas) plan.zero_group.reset();
  return plan;
}

std::int64_t gpus_of(const parallel::ParallelPlan& plan) {
  std::int64_t gpus = 1;
  for (const parallel::Axis axis : parallel::all_axes) gpus *= parallel::ranks_along(axis, plan);
  return gpus;
}

double gradient_bytes(const parallel::ParallelPlan& plan) {
  const parallel::KeptBytes kept = parallel::kept_bytes(plan.bytes);
  return kept.main_gradients > 0 ? kept.main_gradients : kept.gradients;
}

}  // namespace

bool is_same_training(const ParallelQuestion& question, const Family& family,
                      const parallel::ParallelPlan& one, const parallel::ParallelPlan& other) {
  // Messages carry what was stated, whatever the family keeps.
  return usual_text(question, family, one) == usual_text(question, family, other) &&
         gradient_bytes(one) == gradient_bytes(other);
}

bool MeasuredPlan::is(const ParallelQuestion& question, const Family& family,
                      const parallel::ParallelPlan& other) const {
  const auto is_alike = [&](parallel::ParallelPlan one) {
    one.data = other.data;
    if (one == other) return true;
    const bool runs = parallel::faults(one, gpus_of(other), facts_of(question)).empty();
    return runs && is_same_training(question, family, one, other);
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
