#include "model/parallel/timeline/part_costs.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include "core/parallel/schedule/family.hpp"

namespace dlscale::model::parallel_time {
namespace {

constexpr double embedding_forward = 1.0 / 2;  ///< it reads forward what it writes backward
constexpr double head_forward = 1.0 / 3;       ///< one product of three
constexpr double head_weights = 1.0 / 3;       ///< another one
/// Schedules that iteration_time() has a closed form for, if stages have equally many layers.
constexpr std::array<std::string_view, 3> in_closed_form{"gpipe", "1f1b", "interleaved"};

PassParts operator*(double count, const PassParts& pass) {
  return {count * pass.kernels, count * pass.host, count * pass.messages, count * pass.recompute};
}

/// Whether ranks of the schedule have other work while a message is under way.
bool works_on(std::string_view schedule) {
  const parallel::PipelineSchedule& found = parallel::find_schedule(schedule);
  return found.name != "basic" && found.copies == 1;
}

/// Of the parts on the rank of `part`, the one whose last backward is the rank's: its first chunk,
/// and of a stage and its mirror (GEMS), the one nearer to the input.
std::size_t last_part(const PlanSizes& sizes, std::size_t part) {
  const auto stages = static_cast<std::size_t>(sizes.stages);
  const std::size_t stage = part % stages;
  return sizes.copies > 1 ? std::min(stage, stages - 1 - stage) : stage;
}

}  // namespace

double fixed_update(const Setting& setting, const IterationTime& time) {
  return std::min(time.update, setting.constants.step_fixed);
}

parallel::PipelineShape shape_of(const PlanSizes& sizes) {
  return {static_cast<int>(sizes.stages), static_cast<int>(sizes.chunks),
          static_cast<int>(sizes.micro_batches)};
}

std::vector<PartTime> part_times(const Setting& setting, const PlanSizes& sizes,
                                 const parallel::ParallelPlan& plan, const IterationTime& time) {
  const LayerParts layer = layer_parts(setting, sizes, time.layer);
  const auto count = static_cast<std::size_t>(shape_of(sizes).parts());
  const double equal = static_cast<double>(setting.shape.layers) / static_cast<double>(count);
  const bool overlaps = works_on(plan.schedule);
  std::vector<PartTime> parts(count);
  for (std::size_t i = 0; i < count; ++i) {
    PartTime& part = parts[i];
    part.layers = plan.stage_layers.empty() ? equal : plan.stage_layers[i];
    part.forward = part.layers * layer.forward;
    part.backward = part.layers * layer.backward;
    part.weights = part.layers * layer.weights;
    if (sizes.stages > 1) (overlaps ? part.stage_messages : part.message) = time.stage_message;
  }
  parts.front().forward.kernels += embedding_forward * time.embedding;
  parts.front().backward.kernels += (1 - embedding_forward) * time.embedding;
  parts.back().forward.kernels += head_forward * time.head;
  parts.back().backward.kernels += (1 - head_forward) * time.head;
  parts.back().weights += head_weights * time.head;
  return parts;
}

PipelineCosts pipeline_costs(const std::vector<PartTime>& parts, const Setting& setting,
                             const PlanSizes& sizes, const IterationTime& time) {
  PipelineCosts costs;
  costs.reduce.resize(parts.size());
  const double fixed = fixed_update(setting, time);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const PartTime& part = parts[i];
    costs.forward.emplace_back(part.forward_time());
    costs.backward.emplace_back(part.backward_time());
    costs.backward_weights.emplace_back(std::min(part.weights, part.backward_time()));
    const double share = time.busiest_layers > 0 ? part.layers / time.busiest_layers : 0;
    costs.reduce[last_part(sizes, i)] += Seconds(share * time.exposed_gradients);
    costs.update.emplace_back(share * (time.update - fixed));
    if (costs.boundary.size() + 1 < parts.size()) costs.boundary.emplace_back(part.message);
  }
  return costs;
}

bool is_simulated(const parallel::ParallelPlan& plan) {
  if (plan.stages == 1) return false;
  return !plan.stage_layers.empty() ||
         std::ranges::find(in_closed_form, plan.schedule) == in_closed_form.end();
}

Seconds simulated_pipeline(const Setting& setting, const PlanSizes& sizes,
                           const parallel::ParallelPlan& plan, const IterationTime& time) {
  PipelineCosts costs =
      pipeline_costs(part_times(setting, sizes, plan, time), setting, sizes, time);
  costs.reduce.clear();
  costs.update.clear();
  const auto& schedule = parallel::find_schedule(plan.schedule);
  return simulate(schedule.schedule(shape_of(sizes)), costs).makespan;
}

void use_simulated_pipeline(const Setting& setting, const PlanSizes& sizes,
                            const parallel::ParallelPlan& plan, IterationTime& time) {
  const double stragglers = time.total / (time.pipeline + time.exposed_gradients + time.update);
  const double copies = parallel::find_schedule(plan.schedule).copies;
  const double fixed = fixed_update(setting, time);
  time.pipeline = simulated_pipeline(setting, sizes, plan, time).si();
  time.stage_messages = 0;
  if (works_on(plan.schedule)) {
    time.stage_messages = sizes.micro_batches * sizes.chunks * time.stage_message;
  }
  time.exposed_gradients *= copies;
  time.update = fixed + copies * (time.update - fixed);
  time.total = (time.pipeline + time.exposed_gradients + time.update) * stragglers;
}

IterationTime plan_time(const Setting& setting, const PlanSizes& sizes,
                        const parallel::ParallelPlan& plan) {
  IterationTime time = iteration_time(setting, sizes);
  if (is_simulated(plan)) use_simulated_pipeline(setting, sizes, plan, time);
  return time;
}

}  // namespace dlscale::model::parallel_time
