#include "report/parallel_plan/launch_options.hpp"

#include <fmt/format.h>

#include <cstddef>
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

bool has_few_bits(const LaunchSizes& sizes) {
  return sizes.dtype == "fp8" || sizes.dtype == "fp4";
}

/// Products in few bits have the other numbers in bf16.
std::string_view wide_dtype(const LaunchSizes& sizes) {
  return has_few_bits(sizes) ? std::string_view("bf16") : std::string_view(sizes.dtype);
}

/// The name of the wide format in PyTorch.
std::string_view torch_dtype(const LaunchSizes& sizes) {
  if (wide_dtype(sizes) == "bf16") return "bfloat16";
  return wide_dtype(sizes) == "f16" ? "float16" : "float32";
}

/// Lines of Python, for products whose format a framework's file has no words for.
void python_precision(const LaunchSizes& sizes, Lines& lines) {
  if (has_few_bits(sizes)) {
    lines.push_back(
        fmt::format("# with transformer_engine.pytorch.fp8_autocast(...) around the model, for {}",
                    sizes.dtype));
  }
  if (sizes.dtype == "tf32") {
    lines.emplace_back("# torch.set_float32_matmul_precision(\"high\")");
  }
}

/// "Et*2|(t*3|)*4t*2L": embedding, layers and loss of stages. Megatron-LM repeats what parentheses
/// hold.
std::string megatron_layout(const std::vector<int>& layers) {
  EXPECT(layers.size() > 1);
  const std::size_t last = layers.size() - 1;
  std::string text = fmt::format("\"Et*{}|", layers.front());
  for (std::size_t stage = 1; stage < last;) {
    std::size_t end = stage + 1;
    while (end < last && layers[end] == layers[stage]) ++end;
    text += end - stage == 1 ? fmt::format("t*{}|", layers[stage])
                             : fmt::format("(t*{}|)*{}", layers[stage], end - stage);
    stage = end;
  }
  return text + fmt::format("t*{}L\"", layers[last]);
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

void megatron_precision(const LaunchSizes& sizes, Lines& lines) {
  if (wide_dtype(sizes) == "bf16") lines.push_back(argument("bf16"));
  if (wide_dtype(sizes) == "f16") lines.push_back(argument("fp16"));
  if (sizes.dtype == "fp8") lines.push_back(argument("fp8-format", "hybrid"));
  if (sizes.dtype == "fp4") lines.push_back(argument("fp4-format", "e2m1"));
}

void megatron_overlap(const ParallelPlan& plan, const LaunchSizes& sizes, Lines& lines) {
  if (plan.data * plan.context > 1 && sizes.hides_gradients) {
    lines.push_back(argument("overlap-grad-reduce"));
    if (plan.zero > 0 && sizes.hides_gathers) lines.push_back(argument("overlap-param-gather"));
  }
  if (sizes.overlaps_tensor) lines.push_back(argument("tp-comm-overlap"));
  if (plan.experts > 1 && sizes.hides_experts &&
      parallel::may_hide_expert_messages(plan.recompute, plan.stages, plan.chunks)) {
    lines.push_back(argument("overlap-moe-expert-parallel-comm"));
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
  megatron_precision(sizes, lines);
  megatron_sharding(plan, lines);
  megatron_overlap(plan, sizes, lines);
  megatron_recompute(plan, lines);
  return lines;
}

std::string deepspeed_sharding(const ParallelPlan& plan, const LaunchSizes& sizes) {
  std::string text = fmt::format("\"stage\": {}", plan.zero);
  if (plan.zero_group) text += fmt::format(", \"mics_shard_size\": {}", *plan.zero_group);
  // Layers of sharded weights are gathered ahead, whatever the family.
  const bool is_hidden = plan.zero == 3 || sizes.hides_gradients;
  if (plan.zero > 0) text += fmt::format(", \"overlap_comm\": {}", is_hidden);
  return fmt::format("  \"zero_optimization\": {{{}}}", text);
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
  python_precision(sizes, lines);
  lines.emplace_back("{");
  lines.push_back(fmt::format("  \"train_batch_size\": {},", sizes.global_batch));
  lines.push_back(fmt::format("  \"train_micro_batch_size_per_gpu\": {},", micro_batch_of(plan)));
  lines.push_back(
      fmt::format("  \"gradient_accumulation_steps\": {},", micro_batches_of(plan, sizes)));
  if (wide_dtype(sizes) == "bf16") lines.emplace_back("  \"bf16\": {\"enabled\": true},");
  if (wide_dtype(sizes) == "f16") lines.emplace_back("  \"fp16\": {\"enabled\": true},");
  lines.push_back(deepspeed_sharding(plan, sizes));
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

/// Tables before [training]: products in eight bits, and compiling.
void torchtitan_model(const LaunchSizes& sizes, Lines& lines) {
  if (sizes.dtype == "fp8") {
    lines.emplace_back("[model]");
    lines.emplace_back("converters = [\"quantize.linear.float8\"]");
  } else {
    python_precision(sizes, lines);
  }
  if (!sizes.compiled) return;
  lines.emplace_back("[compile]");
  lines.emplace_back("enable = true");
}

Lines torchtitan_lines(const ParallelPlan& plan, const LaunchSizes& sizes) {
  Lines lines;
  torchtitan_model(sizes, lines);
  lines.emplace_back("[training]");
  // A pipeline cuts the local batch into micro-batches; otherwise a local batch is one.
  const std::int64_t local =
      plan.stages > 1 ? share_of_replica(plan, sizes) : std::int64_t{micro_batch_of(plan)};
  lines.push_back(fmt::format("local_batch_size = {}", local));
  lines.push_back(fmt::format("global_batch_size = {}", sizes.global_batch));
  lines.push_back(fmt::format("seq_len = {}", sizes.sequence));
  lines.push_back(fmt::format("mixed_precision_param = \"{}\"", torch_dtype(sizes)));
  lines.emplace_back("[parallelism]");
  const int replicate = plan.zero == 0 ? plan.data : copies_of(plan);
  lines.push_back(fmt::format("data_parallel_replicate_degree = {}", replicate));
  lines.push_back(fmt::format("data_parallel_shard_degree = {}", plan.data / replicate));
  if (plan.zero > 1) {
    lines.push_back(
        fmt::format("fsdp_reshard_after_forward = \"{}\"", plan.zero == 2 ? "never" : "default"));
  }
  lines.push_back(fmt::format("tensor_parallel_degree = {}", plan.tensor));
  if (sizes.overlaps_tensor) lines.emplace_back("enable_async_tensor_parallel = true");
  lines.push_back(fmt::format("context_parallel_degree = {}", plan.context));
  if (plan.experts > 1) lines.push_back(fmt::format("expert_parallel_degree = {}", plan.experts));
  torchtitan_pipeline(plan, sizes, lines);
  lines.emplace_back("[activation_checkpoint]");
  lines.push_back(fmt::format("mode = \"{}\"", parallel::recompute_name(plan.recompute)));
  if (plan.recompute == Recompute::selective) lines.emplace_back("selective_ac_option = \"op\"");
  return lines;
}

Lines nanotron_lines(const ParallelPlan& plan, const LaunchSizes& sizes) {
  Lines lines;
  python_precision(sizes, lines);
  lines.emplace_back("model:");
  lines.push_back(fmt::format("  dtype: {}", torch_dtype(sizes)));
  lines.emplace_back("parallelism:");
  lines.push_back(fmt::format("  dp: {}", plan.data));
  lines.push_back(fmt::format("  pp: {}", plan.stages));
  lines.push_back(fmt::format("  tp: {}", plan.tensor));
  lines.push_back(fmt::format("  pp_engine: {}", plan.schedule == "gpipe" ? "afab" : "1f1b"));
  lines.push_back(
      fmt::format("  tp_mode: {}", plan.sequence_parallel ? "REDUCE_SCATTER" : "ALL_REDUCE"));
  lines.push_back(fmt::format("  tp_linear_async_communication: {}", sizes.overlaps_tensor));
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
