#include "model/parallel/search/framework_ways.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/base/error.hpp"
#include "model/parallel/time/constants.hpp"

namespace dlscale::model::parallel_search {
namespace {

using parallel::ParallelPlan;
using parallel::Recompute;

bool is_plain_or_interleaved(const ParallelPlan& plan) {
  return plan.schedule == "1f1b" || plan.schedule == "interleaved";
}

int replicas_of(const ParallelPlan& plan) {
  return plan.data * plan.context;
}

bool megatron_runs(const ParallelPlan& plan) {
  if (!is_plain_or_interleaved(plan)) return false;
  if (plan.stages > 1 && plan.zero > 1) return false;
  return plan.zero != 3 || plan.recompute != Recompute::selective;
}

bool deepspeed_runs(const ParallelPlan& plan) {
  if (plan.tensor > 1 || plan.context > 1 || !plan.stage_layers.empty()) return false;
  if (plan.schedule != "1f1b") return false;
  if (plan.stages > 1 && (plan.zero > 1 || plan.experts > 1)) return false;
  if (plan.zero_group && plan.zero < 3) return false;
  return plan.recompute == Recompute::none || plan.recompute == Recompute::full;
}

/// DDP alone keeps whole states; all else shards weights, which `zero` 2 keeps after forward.
bool torchtitan_shards(const ParallelPlan& plan) {
  if (plan.zero == 0) {
    return replicas_of(plan) == 1 || (plan.tensor == 1 && plan.context == 1 && plan.stages == 1);
  }
  if (plan.zero == 1 || (plan.zero == 2 && plan.stages > 1)) return false;
  return !plan.zero_group || (*plan.zero_group % plan.context == 0 &&
                              (plan.experts == 1 || *plan.zero_group % plan.experts == 0));
}

bool torchtitan_runs(const ParallelPlan& plan) {
  if (!is_plain_or_interleaved(plan) && plan.schedule != "gpipe") return false;
  if (plan.sequence_parallel != (plan.tensor > 1) || !plan.stage_layers.empty()) return false;
  return plan.recompute != Recompute::block && torchtitan_shards(plan);
}

bool nanotron_runs(const ParallelPlan& plan) {
  if (plan.schedule != "1f1b" && plan.schedule != "gpipe") return false;
  if (plan.zero > 1 || plan.zero_group || !plan.stage_layers.empty()) return false;
  return plan.recompute == Recompute::none || plan.recompute == Recompute::full;
}

constexpr std::array<FrameworkWays, 4> all_ways{{
    {"megatron", "Megatron-LM", "megatron-core",
     "Megatron-LM has neither GPipe nor zero bubbles, and shards no gradients or weights in "
     "pipelines. Its selective recomputation is not timed with ZeRO 3.",
     megatron_runs},
    {"deepspeed", "DeepSpeed", "deepspeed",
     "DeepSpeed without Megatron cuts no tensors and no sequences, runs pipelines by 1f1b of equal "
     "stages with ZeRO 0 or 1, and recomputes layers in full or not.",
     deepspeed_runs},
    {"torchtitan", "torchtitan", "torchtitan",
     "torchtitan has ZeRO 1 nowhere and ZeRO 2 on one stage alone, cuts tokens wherever it cuts "
     "tensors, recomputes no blocks, and its zero bubbles need other stages than the model times.",
     torchtitan_runs},
    {"nanotron", "nanotron", "nanotron",
     "nanotron has neither interleaved stages nor zero bubbles, shards by ZeRO 0 or 1 over all "
     "replicas, and recomputes layers in full or not.",
     nanotron_runs},
}};

}  // namespace

std::span<const FrameworkWays> framework_ways() {
  return all_ways;
}

const FrameworkWays* ways_of(std::string_view framework) {
  const parallel_time::Family* family = parallel_time::parallel_times().family_of_words(framework);
  if (family == nullptr || family->runs.empty()) return nullptr;
  const auto found = std::ranges::find(all_ways, family->runs, &FrameworkWays::name);
  if (found != all_ways.end()) return &*found;
  throw ConfigError(
      fmt::format("configs/models/parallel.yaml: the family {} runs the plans of {}, which are not "
                  "known. Write "
                  "megatron, deepspeed, torchtitan or nanotron, or leave runs out.",
                  family->name, family->runs));
}

}  // namespace dlscale::model::parallel_search
