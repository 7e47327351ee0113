#include "model/published/parallel/memory_need.hpp"

#include <algorithm>
#include <cmath>

#include "model/memory/rank_memory.hpp"

namespace dlscale::model::parallel_time {
namespace {

constexpr double gib = 1024.0 * 1024 * 1024;
constexpr double giga = 1e9;
constexpr double library_bytes = 1.2e9;  ///< context and communicators
constexpr double large_device = 100e9;   ///< from which more of the memory is kept back
constexpr double usable = 0.995;
constexpr double usable_of_large = 0.95;

/// Bytes for tensors on a device whose sheet counts gigabytes for gibibytes.
double device_bytes(const DeviceSheet& device) {
  const double printed = device.memory.si();
  return printed / giga * gib * (printed < large_device ? usable : usable_of_large) - library_bytes;
}

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
  const int stage = needs.worst(memory::MemoryCounter::reserved).stage;
  const memory::MemoryEstimate peak = needs.peak(stage, memory::MemoryCounter::reserved);
  const double most = device_bytes(device);
  return {peak.bytes / most, peak.low / most};
}

bool waits_for_memory(const Family& family, const MemoryNeed& need) {
  constexpr double nearly_all = 0.97;
  return family.frees_blocks && need.share > nearly_all;
}

}  // namespace dlscale::model::parallel_time
