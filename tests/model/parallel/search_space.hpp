#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/network/network.hpp"
#include "model/goodput/parallel_plan.hpp"
#include "model/goodput/training_cost.hpp"
#include "model/memory/transformer_shape.hpp"
#include "model/parallel/answer/allocator.hpp"
#include "model/parallel/search/search.hpp"
#include "model/parallel/search/split.hpp"
#include "model/parallel/timeline/part_costs.hpp"

/// Searches over small spaces, and the same spaces without any short cut.
namespace dlscale::model::parallel_search {

inline SearchQuestion question_of(std::string_view network, std::vector<int> gpus,
                                  std::int64_t batch, std::string framework = "") {
  SearchQuestion question;
  question.training.shape = memory::transformer_shape(load_network(network));
  question.training.global_batch = batch;
  question.frameworks = {asked_framework(std::move(framework))};
  question.gpus = std::move(gpus);
  return question;
}

/// A plan of the whole space, by itself.
struct SlowPlan {
  parallel::ParallelPlan plan;
  double seconds = 0;
  double joules = 0;
  bool fits = false;
  double excess = 0;
};

/// All plans on `gpus` GPUs with up to `most_batch` samples in a micro-batch, in which each number
/// is tried, that have no fault and that the framework runs.
inline std::vector<SlowPlan> all_plans(const SearchQuestion& question, const Cluster& cluster,
                                       int gpus, int most_batch) {
  const auto& file = parallel_time::parallel_times();
  parallel_time::ParallelQuestion training = question.training;
  training.framework = question.frameworks.front().name;
  const FrameworkWays* const ways = question.frameworks.front().ways;
  const parallel_time::ParallelHardware hardware = parallel_time::parallel_hardware(cluster, gpus);
  const parallel_time::Setting setting = parallel_time::setting_of(file, training, hardware);
  const parallel::NetworkFacts facts = parallel_time::facts_of(training);
  const memory::Implementation way = file.implementation_of(training.framework);
  const int layers = static_cast<int>(question.training.shape.layers);
  std::vector<SlowPlan> found;
  parallel::ParallelPlan plan;
  const auto visit = [&] {
    if (ways != nullptr && !ways->runs(plan)) return;
    if (!parallel::faults(plan, gpus, facts).empty()) return;
    const memory::RankMemory memory = memory::rank_memory(
        training.shape, parallel_time::memory_setup_of(training, setting, plan), way);
    const memory::MemoryEstimate peak = memory.peak(
        memory.worst(memory::MemoryCounter::device).stage, memory::MemoryCounter::device);
    const double need = question.fit == Fit::surely ? peak.high : peak.bytes;
    plan.tensor_overlap.reset();
    const parallel_time::Family& family = *setting.family;
    if (ways != nullptr && family.compiling == parallel_time::Compiling::on_request) {
      plan.compile = true;
    }
    if (plan.sequence_parallel && family.tensor_overlap == parallel_time::TensorOverlap::buffers &&
        !family.overlaps) {
      plan.tensor_overlap = true;
    }
    parallel_time::PlanSizes sizes = parallel_time::sizes_of(training, family, plan);
    sizes.stage_layers = plan.stage_layers;
    sizes.keeps_gathered_stage = plan.zero >= 3 && way.keeps_gathered_stage;
    const parallel_time::IterationTime time = parallel_time::plan_time(setting, sizes, plan);
    const double seconds = time.total * parallel_time::waits_for_memory(
                                            file.waiting, *setting.family,
                                            parallel_time::memory_need(memory, hardware.memory))
                                            .likely;
    goodput::CostQuestion power;
    power.power.board_w = hardware.device.power_w;
    const double watts = goodput::phase_watts(power)->mean(
        goodput::shares_by_stage(time, sizes.micro_batches, seconds));
    found.push_back(
        {plan, seconds, gpus * seconds * watts, need <= hardware.memory, need - hardware.memory});
  };
  const auto recomputes = [&] {
    for (const parallel::Recompute recompute : parallel::all_recomputes) {
      plan.recompute = recompute;
      const int most = recompute == parallel::Recompute::block ? layers : 0;
      for (plan.recompute_layers = 0; plan.recompute_layers <= most; ++plan.recompute_layers) {
        visit();
      }
    }
    plan.recompute_layers = 0;
  };
  const auto shards = [&] {
    const int replicas = plan.data * plan.context;
    for (plan.zero = 0; plan.zero <= (replicas > 1 ? 3 : 0); ++plan.zero) {
      plan.zero_group.reset();
      recomputes();
      for (int group = 2; plan.zero > 0 && group < replicas; ++group) {
        plan.zero_group = group;
        recomputes();
      }
      plan.zero_group.reset();
    }
  };
  const auto batches = [&] {
    for (int batch = 1; batch <= most_batch; ++batch) {
      plan.micro_batch = batch;
      for (const bool cut : {false, true}) {
        plan.sequence_parallel = cut;
        shards();
      }
    }
  };
  const auto schedules = [&] {
    plan.stage_layers = balanced_layers(layers, plan.stages);
    for (const char* name : {"1f1b", "zero_bubble", "gpipe", "interleaved"}) {
      plan.schedule = name;
      if (plan.stages == 1 && plan.schedule != "1f1b") continue;
      const int most = plan.schedule == "interleaved" ? layers : 1;
      for (plan.chunks = 1; plan.chunks <= most; ++plan.chunks) {
        if (plan.chunks > 1 && !plan.stage_layers.empty()) continue;
        batches();
      }
    }
    plan.chunks = 1;
  };
  for (plan.tensor = 1; plan.tensor <= gpus; ++plan.tensor) {
    for (plan.context = 1; plan.context <= gpus; ++plan.context) {
      for (plan.stages = 1; plan.stages <= gpus; ++plan.stages) {
        for (plan.data = 1; plan.data <= gpus; ++plan.data) {
          for (plan.experts = 1; plan.experts <= gpus; ++plan.experts) {
            if (plan.tensor * plan.context * plan.stages * plan.data == gpus) schedules();
          }
        }
      }
    }
  }
  return found;
}

}  // namespace dlscale::model::parallel_search
