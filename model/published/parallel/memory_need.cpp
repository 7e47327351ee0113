#include "model/published/parallel/memory_need.hpp"

#include <algorithm>
#include <cmath>

#include "model/memory/rank_memory.hpp"

namespace dlscale::model::parallel_time {
namespace {

memory::Recompute recompute_of(parallel::Recompute recompute, const PlanSizes& plan) {
  if (recompute == parallel::Recompute::full) return memory::Recompute::full;
  if (recompute != parallel::Recompute::selective) return memory::Recompute::none;
  return plan.sharded_weights ? memory::Recompute::operators : memory::Recompute::selective;
}

memory::MemorySetup setup_of(const ParallelTraining& training, parallel::Recompute recompute) {
  const PlanSizes& plan = training.plan;
  memory::MemorySetup setup;
  setup.data = static_cast<int>(plan.data);
  setup.tensor = static_cast<int>(plan.tensor);
  setup.sequence_parallel = plan.sequence_parallel;
  setup.context = static_cast<int>(plan.context);
  setup.experts = static_cast<int>(plan.experts);
  setup.stages = static_cast<int>(plan.stages);
  setup.chunks = static_cast<int>(plan.chunks);
  setup.schedule = plan.chunks > 1 ? "interleaved" : "1f1b";
  setup.stage_layers.assign(training.stage_layers.begin(), training.stage_layers.end());
  setup.zero = plan.sharded_weights ? 3 : plan.zero;
  setup.micro_batch = plan.micro_batch;
  setup.micro_batches = static_cast<int>(std::min(plan.micro_batches, 1e9));
  setup.recompute = recompute_of(recompute, plan);
  setup.element = training.setting.rates.element_bytes;
  setup.fused_attention = training.setting.attention != AttentionKernel::in_memory;
  setup.bytes = training.setting.family->state_bytes;
  return setup;
}

}  // namespace

MemoryNeed memory_need(const ParallelTraining& training, const DeviceSheet& device,
                       parallel::Recompute recompute) {
  const memory::RankMemory needs =
      memory::rank_memory(training.setting.shape, setup_of(training, recompute),
                          memory::implementation_of(training.framework));
  return memory_need(needs, usable_memory(device));
}

}  // namespace dlscale::model::parallel_time
