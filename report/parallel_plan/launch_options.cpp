#include "report/parallel_plan/launch_options.hpp"

#include <fmt/format.h>

#include <string_view>

#include "core/base/error.hpp"

namespace dlscale::report {
namespace {

using parallel::ParallelPlan;
using parallel::Recompute;
using Lines = std::vector<std::string>;

int micro_batch_of(const ParallelPlan& plan) {
  return plan.micro_batch.value_or(1);
}

/// Sequences of a replica in an iteration.
std::int64_t share_of_replica(const ParallelPlan& plan, const LaunchSizes& sizes) {
  return sizes.global_batch / plan.data;
}

std::int64_t micro_batches_of(const ParallelPlan& plan, const LaunchSizes& sizes) {
  return share_of_replica(plan, sizes) / micro_batch_of(plan);
}

/// Groups that hold one copy of sharded states each.
int copies_of(const ParallelPlan& plan) {
  return plan.zero_group ? plan.data * plan.context / *plan.zero_group : 1;
}

/// "Et*2|t*3|t*2L": embedding, layers and loss of stages.
std::string megatron_layout(const std::vector<int>& layers) {
  std::string text = "\"E";
  for (std::size_t stage = 0; stage < layers.size(); ++stage) {
    if (stage > 0) text += '|';
    text += fmt::format("t*{}", layers[stage]);
  }
  return text + "L\"";
}

std::string argument(std::string_view name) {
  return fmt::format("--{}", name);
}
template <class Value>
std::string argument(std::string_view name, const Value& value) {
  return fmt::format("--{} {}", name, value);
}

void megatron_recompute(const ParallelPlan& plan, Lines& lines) {
  if (plan.recompute == Recompute::selective) {
    lines.push_back(argument("recompute-granularity", "selective"));
    return;
  }
  if (plan.recompute == Recompute::none) return;
  const bool is_block = plan.recompute == Recompute::block;
  lines.push_back(argument("recompute-granularity", "full"));
  lines.push_back(argument("recompute-method", is_block ? "block" : "uniform"));
  lines.push_back(argument("recompute-num-layers", is_block ? plan.recompute_layers : 1));
}

void megatron_sharding(const ParallelPlan& plan, Lines& lines) {
  if (plan.zero > 0) lines.push_back(argument("use-distributed-optimizer"));
  if (plan.zero > 1) {
    lines.push_back(argument("use-megatron-fsdp"));
    lines.push_back(argument("ckpt-format", "fsdp_dtensor"));
    lines.push_back(argument("data-parallel-sharding-strategy",
                             plan.zero == 2 ? "optim_grads" : "optim_grads_params"));
  }
  if (copies_of(plan) > 1) {
    lines.push_back(argument("num-distributed-optimizer-instances", copies_of(plan)));
  }
}

Lines megatron_lines(const ParallelPlan& plan, const LaunchSizes& sizes) {
  Lines lines{argument("tensor-model-parallel-size", plan.tensor)};
  if (plan.sequence_parallel) lines.push_back(argument("sequence-parallel"));
  lines.push_back(argument("pipeline-model-parallel-size", plan.stages));
  if (plan.chunks > 1) {
    lines.push_back(argument("num-layers-per-virtual-pipeline-stage",
                             sizes.layers / (std::int64_t{plan.stages} * plan.chunks)));
  }
  if (!plan.stage_layers.empty()) {
    lines.push_back(argument("pipeline-model-parallel-layout", megatron_layout(plan.stage_layers)));
  }
  lines.push_back(argument("context-parallel-size", plan.context));
  if (plan.experts > 1) {
    lines.push_back(argument("expert-model-parallel-size", plan.experts));
    lines.push_back(argument("expert-tensor-parallel-size", 1));
  }
  lines.push_back(argument("micro-batch-size", micro_batch_of(plan)));
  lines.push_back(argument("global-batch-size", sizes.global_batch));
  lines.push_back(argument("seq-length", sizes.sequence));
  megatron_sharding(plan, lines);
  megatron_recompute(plan, lines);
  return lines;
}

Lines deepspeed_lines(const ParallelPlan& plan, const LaunchSizes& sizes) {
  Lines lines;
  const bool recomputes = plan.recompute == Recompute::full;
  if (plan.stages > 1) {
    lines.push_back(fmt::format("# deepspeed.pipe.PipelineModule(layers, num_stages={}{})",
                                plan.stages,
                                recomputes ? ", activation_checkpoint_interval=1" : ""));
  } else if (recomputes) {
    lines.emplace_back("# deepspeed.checkpointing.checkpoint(layer, ...) around each layer");
  }
  if (plan.experts > 1) {
    lines.push_back(fmt::format("# deepspeed.moe.layer.MoE(..., ep_size={})", plan.experts));
  }
  lines.emplace_back("{");
  lines.push_back(fmt::format("  \"train_batch_size\": {},", sizes.global_batch));
  lines.push_back(fmt::format("  \"train_micro_batch_size_per_gpu\": {},", micro_batch_of(plan)));
  lines.push_back(
      fmt::format("  \"gradient_accumulation_steps\": {},", micro_batches_of(plan, sizes)));
  lines.push_back(fmt::format(
      "  \"zero_optimization\": {{\"stage\": {}{}}}", plan.zero,
      plan.zero_group ? fmt::format(", \"mics_shard_size\": {}", *plan.zero_group) : ""));
  lines.emplace_back("}");
  return lines;
}

std::string_view torchtitan_schedule(const ParallelPlan& plan) {
  if (plan.schedule == "interleaved") return "Interleaved1F1B";
  return plan.schedule == "gpipe" ? "GPipe" : "1F1B";
}

void torchtitan_pipeline(const ParallelPlan& plan, const LaunchSizes& sizes, Lines& lines) {
  lines.push_back(fmt::format("pipeline_parallel_degree = {}", plan.stages));
  if (plan.stages == 1) return;
  lines.push_back(fmt::format("pipeline_parallel_schedule = \"{}\"", torchtitan_schedule(plan)));
  lines.push_back(fmt::format("pipeline_parallel_layers_per_stage = {}",
                              sizes.layers / (std::int64_t{plan.stages} * plan.chunks)));
  lines.push_back(fmt::format("pipeline_parallel_microbatch_size = {}", micro_batch_of(plan)));
}

Lines torchtitan_lines(const ParallelPlan& plan, const LaunchSizes& sizes) {
  Lines lines{"[training]"};
  // A pipeline cuts the local batch into micro-batches; otherwise a local batch is one.
  const std::int64_t local =
      plan.stages > 1 ? share_of_replica(plan, sizes) : std::int64_t{micro_batch_of(plan)};
  lines.push_back(fmt::format("local_batch_size = {}", local));
  lines.push_back(fmt::format("global_batch_size = {}", sizes.global_batch));
  lines.push_back(fmt::format("seq_len = {}", sizes.sequence));
  lines.emplace_back("[parallelism]");
  const int replicate = plan.zero == 0 ? plan.data : copies_of(plan);
  lines.push_back(fmt::format("data_parallel_replicate_degree = {}", replicate));
  lines.push_back(fmt::format("data_parallel_shard_degree = {}", plan.data / replicate));
  if (plan.zero > 1) {
    lines.push_back(
        fmt::format("fsdp_reshard_after_forward = \"{}\"", plan.zero == 2 ? "never" : "default"));
  }
  lines.push_back(fmt::format("tensor_parallel_degree = {}", plan.tensor));
  if (plan.tensor > 1 && sizes.async_tensor) {
    lines.emplace_back("enable_async_tensor_parallel = true");
  }
  lines.push_back(fmt::format("context_parallel_degree = {}", plan.context));
  if (plan.experts > 1) lines.push_back(fmt::format("expert_parallel_degree = {}", plan.experts));
  torchtitan_pipeline(plan, sizes, lines);
  lines.emplace_back("[activation_checkpoint]");
  lines.push_back(fmt::format("mode = \"{}\"", parallel::recompute_name(plan.recompute)));
  if (plan.recompute == Recompute::selective) lines.emplace_back("selective_ac_option = \"op\"");
  return lines;
}

Lines nanotron_lines(const ParallelPlan& plan, const LaunchSizes& sizes) {
  Lines lines{"parallelism:"};
  lines.push_back(fmt::format("  dp: {}", plan.data));
  lines.push_back(fmt::format("  pp: {}", plan.stages));
  lines.push_back(fmt::format("  tp: {}", plan.tensor));
  lines.push_back(fmt::format("  pp_engine: {}", plan.schedule == "gpipe" ? "afab" : "1f1b"));
  lines.push_back(
      fmt::format("  tp_mode: {}", plan.sequence_parallel ? "REDUCE_SCATTER" : "ALL_REDUCE"));
  lines.push_back(
      fmt::format("  tp_linear_async_communication: {}", plan.tensor > 1 && sizes.async_tensor));
  if (plan.context > 1) lines.push_back(fmt::format("  context_parallel_size: {}", plan.context));
  if (plan.experts > 1) lines.push_back(fmt::format("  expert_parallel_size: {}", plan.experts));
  lines.push_back(fmt::format("  recompute_layer: {}", plan.recompute == Recompute::full));
  lines.emplace_back("tokens:");
  lines.push_back(fmt::format("  sequence_length: {}", sizes.sequence));
  lines.push_back(fmt::format("  micro_batch_size: {}", micro_batch_of(plan)));
  lines.push_back(
      fmt::format("  batch_accumulation_per_replica: {}", micro_batches_of(plan, sizes)));
  lines.emplace_back("optimizer:");
  lines.push_back(fmt::format("  zero_stage: {}", plan.zero));
  return lines;
}

}  // namespace

std::vector<std::string> launch_options(const model::parallel_search::FrameworkWays& ways,
                                        const ParallelPlan& plan, const LaunchSizes& sizes) {
  EXPECT(ways.runs(plan));
  if (ways.name == "megatron") return megatron_lines(plan, sizes);
  if (ways.name == "deepspeed") return deepspeed_lines(plan, sizes);
  if (ways.name == "torchtitan") return torchtitan_lines(plan, sizes);
  if (ways.name == "nanotron") return nanotron_lines(plan, sizes);
  fail_expectation("every framework has its words");
}

}  // namespace dlscale::report
