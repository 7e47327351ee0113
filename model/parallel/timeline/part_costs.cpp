#include "model/parallel/timeline/part_costs.hpp"

#include <algorithm>
#include <cstddef>

#include "core/parallel/schedule/family.hpp"

namespace dlscale::model::parallel_time {
namespace {

constexpr double head_weights = head_forward;  ///< another product of three

PassParts operator*(double count, const PassParts& pass) {
  return {count * pass.kernels, count * pass.host, count * pass.messages, count * pass.recompute};
}

/// Layers of a part: its own, its share of the stage's, or as many as every part has.
double layers_of_part(const Setting& setting, const PlanSizes& sizes,
                      const parallel::ParallelPlan& plan, std::size_t part) {
  const auto count = static_cast<std::size_t>(shape_of(sizes).parts());
  if (plan.stage_layers.size() == count) return plan.stage_layers[part];
  if (sizes.stage_layers.empty()) {
    return static_cast<double>(setting.shape.layers) / static_cast<double>(count);
  }
  return sizes.stage_layers[part % sizes.stage_layers.size()] / sizes.chunks;
}

std::vector<PartTime> parts_of_layers(const Setting& setting, const PlanSizes& sizes,
                                      const parallel::ParallelPlan& plan, const IterationTime& time,
                                      const LayerParts& layer) {
  std::vector<PartTime> parts(static_cast<std::size_t>(shape_of(sizes).parts()));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    PartTime& part = parts[i];
    part.layers = layers_of_part(setting, sizes, plan, i);
    part.forward = part.layers * layer.forward;
    part.backward = part.layers * layer.backward;
    part.weights = part.layers * layer.weights;
    part.message = time.stage_message;  // 0 on one stage
  }
  parts.front().forward.kernels += embedding_forward * time.embedding;
  parts.front().backward.kernels += (1 - embedding_forward) * time.embedding;
  parts.back().forward.kernels += head_forward * time.head;
  parts.back().backward.kernels += (1 - head_forward) * time.head;
  parts.back().weights += head_weights * time.head;
  return parts;
}

/// The parts of a layer as far as a schedule reads them: whole passes, unless it cuts backward.
LayerParts scheduled_parts(const Setting& setting, const PlanSizes& sizes,
                           const parallel::ParallelPlan& plan, const LayerTime& time) {
  if (parallel::find_schedule(plan.schedule).splits_backward) {
    return layer_parts(setting, sizes, time);
  }
  LayerParts whole;
  whole.forward.kernels = time.layer.forward;
  whole.backward.kernels = time.layer.backward;
  return whole;
}

/// The part whose last backward is that of the rank which holds `part`: the rank's first chunk,
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
          static_cast<int>(std::min(sizes.micro_batches, 1e9))};
}

std::vector<PartTime> part_times(const Setting& setting, const PlanSizes& sizes,
                                 const parallel::ParallelPlan& plan, const IterationTime& time) {
  return parts_of_layers(setting, sizes, plan, time, layer_parts(setting, sizes, time.layer));
}

PipelineCosts pipeline_costs(const std::vector<PartTime>& parts, const Setting& setting,
                             const PlanSizes& sizes, const IterationTime& time) {
  PipelineCosts costs;
  costs.reduce.resize(parts.size());
  const double fixed = fixed_update(setting, time);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const PartTime& part = parts[i];
    costs.forward.emplace_back(part.forward.total());
    costs.backward.emplace_back(part.backward.total());
    costs.backward_weights.emplace_back(std::min(part.weights, part.backward.total()));
    const double share = time.busiest_layers > 0 ? part.layers / time.busiest_layers : 0;
    costs.reduce[last_part(sizes, i)] += Seconds(share * time.exposed_gradients);
    costs.update.emplace_back(share * (time.update - fixed));
    if (costs.boundary.size() + 1 < parts.size()) costs.boundary.emplace_back(part.message);
  }
  return costs;
}

bool is_simulated(const PlanSizes& sizes, const parallel::ParallelPlan& plan) {
  if (sizes.stages == 1 || sizes.both_directions) return false;
  return parallel::obstacle(parallel::find_schedule(plan.schedule), shape_of(sizes)).empty();
}

Makespans makespans_of(const PlanSizes& sizes, const parallel::ParallelPlan& plan) {
  return {parallel::find_schedule(plan.schedule), shape_of(sizes)};
}

PipelineCosts schedule_costs(const Setting& setting, const PlanSizes& sizes,
                             const parallel::ParallelPlan& plan, const IterationTime& time) {
  const LayerParts layer = scheduled_parts(setting, sizes, plan, time.layer);
  PipelineCosts costs =
      pipeline_costs(parts_of_layers(setting, sizes, plan, time, layer), setting, sizes, time);
  costs.reduce.clear();
  costs.update.clear();
  return costs;
}

Seconds simulated_pipeline(const Setting& setting, const PlanSizes& sizes,
                           const parallel::ParallelPlan& plan, const IterationTime& time,
                           const Makespans* makespans) {
  const PipelineCosts costs = schedule_costs(setting, sizes, plan, time);
  return makespans == nullptr ? makespans_of(sizes, plan).of(costs) : makespans->of(costs);
}

void use_pipeline(const Setting& setting, const parallel::ParallelPlan& plan, Seconds makespan,
                  IterationTime& time) {
  const double stragglers = time.total / (time.pipeline + time.exposed_gradients + time.update);
  const double copies = parallel::find_schedule(plan.schedule).copies;
  const double fixed = fixed_update(setting, time);
  time.pipeline = makespan.si();
  time.stage_messages = 0;  // they are part of waits
  time.exposed_gradients *= copies;
  time.update = fixed + copies * (time.update - fixed);
  time.total = (time.pipeline + time.exposed_gradients + time.update) * stragglers;
}

IterationTime plan_time(const Setting& setting, const PlanSizes& sizes,
                        const parallel::ParallelPlan& plan, const Makespans* makespans) {
  IterationTime time = iteration_time(setting, sizes);
  if (is_simulated(sizes, plan)) {
    use_pipeline(setting, plan, simulated_pipeline(setting, sizes, plan, time, makespans), time);
  }
  return time;
}

}  // namespace dlscale::model::parallel_time
