#include "model/memory/plan_setup.hpp"

#include <cstddef>
#include <vector>

#include "core/base/error.hpp"

namespace dlscale::model::memory {
namespace {

Recompute recompute_of(parallel::Recompute recompute) {
  switch (recompute) {
    case parallel::Recompute::none:
      return Recompute::none;
    case parallel::Recompute::selective:
      return Recompute::selective;
    case parallel::Recompute::full:
      return Recompute::full;
    case parallel::Recompute::block:
      return Recompute::block;
  }
  return Recompute::none;  // every case is above
}

/// Layers of each stage, from those of its chunks.
std::vector<double> stage_layers_of(const parallel::ParallelPlan& plan) {
  if (plan.stage_layers.empty()) return {};
  const auto stages = static_cast<std::size_t>(plan.stages);
  std::vector<double> layers(stages, 0);
  for (std::size_t part = 0; part < plan.stage_layers.size(); ++part) {
    layers[part % stages] += plan.stage_layers[part];
  }
  return layers;
}

}  // namespace

MemorySetup setup_of_plan(const parallel::ParallelPlan& plan,
                          const parallel::PlanBatches& batches) {
  if (plan.branches > 1) {
    throw ConfigError(
        "The memory of sub-graphs side by side is not computed. Ask for a plan with one branch.");
  }
  MemorySetup setup;
  setup.data = plan.data;
  setup.tensor = plan.tensor;
  setup.sequence_parallel = plan.sequence_parallel;
  setup.context = plan.context;
  setup.experts = plan.experts;
  setup.stages = plan.stages;
  setup.chunks = plan.chunks;
  setup.schedule = plan.schedule;
  setup.stage_layers = stage_layers_of(plan);
  setup.zero = plan.zero;
  setup.zero_group = plan.zero_group.value_or(0);
  setup.micro_batch = static_cast<double>(batches.micro_batch.value_or(1));
  setup.micro_batches = static_cast<int>(batches.micro_batches);
  setup.recompute = recompute_of(plan.recompute);
  setup.recompute_layers = plan.recompute_layers;
  const parallel::KeptBytes bytes = parallel::kept_bytes(plan.bytes);
  setup.bytes = {.weights = bytes.weights,
                 .gradients = bytes.gradients,
                 .main_gradients = bytes.main_gradients,
                 .main_weights = bytes.master,
                 .moments = parallel::moment_bytes(plan)};
  return setup;
}

}  // namespace dlscale::model::memory
