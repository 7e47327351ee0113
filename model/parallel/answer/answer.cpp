#include "model/parallel/answer/answer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include "core/base/error.hpp"
#include "core/cluster/device_memory.hpp"
#include "core/parallel/schedule/family.hpp"
#include "model/memory/plan_setup.hpp"
#include "model/parallel/time/attention.hpp"
#include "model/parallel/timeline/part_costs.hpp"

namespace dlscale::model::parallel_time {
namespace {

/// Refuses formats that a device does not compute in, and names the nearest that it does.
void expect_peak(Precision precision, const DeviceFacts& facts, const DeviceSheet& sheet) {
  const bool has_half =
      sheet.peak.contains(SheetFormat::bf16) || sheet.peak.contains(SheetFormat::f16);
  std::string_view lacking;
  if (precision == Precision::eight_bits && facts.eight_bit_peak == 0) lacking = "8 bits (f8)";
  if (precision == Precision::four_bits && facts.four_bit_peak == 0) lacking = "4 bits (f4)";
  if (precision == Precision::half && !has_half) lacking = "bf16 or f16";
  if (precision == Precision::tf32 && !sheet.peak.contains(SheetFormat::tf32)) lacking = "tf32";
  if (lacking.empty()) return;
  std::string_view nearest = has_half ? "bf16" : "f32";
  if (precision == Precision::four_bits && facts.eight_bit_peak > 0) nearest = "fp8";
  throw ConfigError(
      fmt::format("The device file {} ({}) has no peak in {}. Take {}, or add it to the peaks of "
                  "the file if the device has it.",
                  sheet.id, sheet.name, lacking, nearest));
}

/// The facts that a setting rests on: f32 is computed without tf32, as beside data parallelism.
DeviceFacts facts_in(Precision precision, const DeviceSheet& sheet,
                     const TimeConstants& constants) {
  DeviceFacts facts = device_facts(sheet, constants);
  const auto f32 = sheet.peak.find(SheetFormat::f32);
  if (precision == Precision::f32 && f32 != sheet.peak.end()) facts.wide_peak = f32->second.si();
  return facts;
}

std::string_view name_or(std::string_view framework) {
  return framework.empty() ? "this framework" : framework;
}

/// Refuses messages under products that a family does not send.
void expect_overlap(const ParallelQuestion& question, const Family& family,
                    const parallel::ParallelPlan& plan, bool compiled) {
  if (plan.tensor_overlap != true) return;
  if (family.tensor_overlap == TensorOverlap::none) {
    throw ConfigError(fmt::format(
        "tensor_overlap is true, and the family {} of {} sends no messages under products. Leave "
        "it out, or name other software, such as megatron-core.",
        family.name, name_or(question.framework)));
  }
  if (family.tensor_overlap == TensorOverlap::compiled && !compiled) {
    throw ConfigError(
        fmt::format("tensor_overlap is true without compile ({} sends messages under products in "
                    "compiled steps alone). Write compile=true, or leave it out.",
                    name_or(question.framework)));
  }
}

constexpr double most_micro_batches = 1e9;

/// The numbers of a plan, which view the layers of its stages in `layers`.
NumberedPlan numbered_plan(const ParallelQuestion& question, const Family& family,
                           const parallel::ParallelPlan& plan, std::vector<int>& layers) {
  NumberedPlan numbered{sizes_of(question, family, plan), plan, question.framework};
  layers = stage_layers_of(plan);
  numbered.sizes.stage_layers = layers;
  return numbered;
}

memory::MemorySetup setup_of_batches(const Setting& setting, const parallel::ParallelPlan& plan,
                                     const parallel::PlanBatches& batches) {
  parallel::ParallelPlan stated = plan;
  stated.bytes = state_bytes_of(*setting.family, plan, setting.rates.precision);
  memory::MemorySetup setup = memory::setup_of_plan(stated, batches);
  setup.element = setting.rates.element_bytes;
  setup.operand = few_bit_bytes(setting.rates.precision);
  // by rows for forward and by columns for backward; another number of bytes says them all
  const double usual = setting.family->state_bytes.weights;
  if (setting.family->copies_weights && plan.bytes.weights.value_or(usual) == usual) {
    setup.operand_weights = 2 * setup.operand;
  }
  setup.imbalance = setting.constants.imbalance;
  setup.fused_attention = setting.attention != AttentionKernel::in_memory;
  if (plan.zero >= 3 && plan.recompute == parallel::Recompute::selective) {
    setup.recompute = memory::Recompute::operators;
  }
  return setup;
}

}  // namespace

ParallelHardware parallel_hardware(const Cluster& cluster, std::int64_t gpus) {
  if (cluster.device.kind != DeviceKind::gpu || cluster.device.sheet.empty()) {
    throw ConfigError(
        fmt::format("Cluster {} has no GPU with a data sheet, and times of parallel plans follow "
                    "from one. Name a cluster of GPUs.",
                    cluster.name));
  }
  ParallelHardware hardware;
  hardware.device = load_device_sheet(cluster.device.sheet);
  hardware.memory = usable_memory(hardware.device.memory).si();
  hardware.links.node_gpus = cluster.devices_per_node;
  hardware.links.gpus = static_cast<double>(gpus);
  hardware.links.inside = cluster.intra_node.bandwidth.si();
  hardware.links.network = cluster.inter_node.bandwidth.si();
  hardware.links.starts_slowly = cluster.network && starts_slowly(cluster.network->kind);
  return hardware;
}

NamedFamily family_of(const ParallelTimeFile& file, const std::string& framework,
                      const DeviceRates& rates) {
  const double capability = rates.facts.capability;
  const Family* named = file.named_family(
      {framework, capability == 0 || capability >= hopper_capability || rates.has_few_bits()});
  return {named == nullptr ? &file.family(file.other) : named, named != nullptr};
}

Setting setting_of(const ParallelTimeFile& file, const ParallelQuestion& question,
                   const ParallelHardware& hardware) {
  const DeviceFacts facts = facts_in(question.precision, hardware.device, file.constants);
  expect_peak(question.precision, facts, hardware.device);
  const DeviceRates rates = device_rates(facts, question.precision, file.constants);
  const Family* family = family_of(file, question.framework, rates).family;
  const TimeConstants reached = reached_by(*family, file.constants);
  return {reached,
          family,
          kernel_on(family->attention, facts.capability, false),
          device_rates(facts, question.precision, reached),
          Collectives(reached, hardware.links),
          question.shape};
}

parallel::NetworkFacts facts_of(const ParallelQuestion& question) {
  const memory::TransformerShape& shape = question.shape;
  const auto whole = [](std::int64_t number) { return static_cast<int>(number); };
  return {.layers = whole(shape.layers),
          .heads = whole(shape.heads),
          .kv_heads = whole(shape.kv_heads),
          .experts = shape.experts ? whole(shape.experts->count) : 0,
          .hidden = whole(shape.hidden),
          .ffn = whole(shape.ffn),
          .sequence = whole(shape.sequence),
          .branches = 0,
          .global_batch = question.global_batch};
}

std::vector<int> stage_layers_of(const parallel::ParallelPlan& plan) {
  if (plan.stage_layers.empty()) return {};
  const auto stages = static_cast<std::size_t>(plan.stages);
  std::vector<int> layers(stages, 0);
  for (std::size_t part = 0; part < plan.stage_layers.size(); ++part) {
    layers[part % stages] += plan.stage_layers[part];
  }
  return layers;
}

parallel::StateBytes state_bytes_of(const Family& family, const parallel::ParallelPlan& plan,
                                    Precision precision) {
  const memory::StateBytes& usual = family.state_bytes;
  parallel::KeptBytes kept;  // of 32 bits, without copies
  if (precision != Precision::f32 && precision != Precision::tf32) {
    kept = {.weights = usual.weights,
            .gradients = usual.gradients,
            .main_gradients = usual.main_gradients,
            .master = usual.main_weights};
  }
  const bool is_usual_optimiser = plan.optimizer == parallel::ParallelPlan{}.optimizer;
  const parallel::StateBytes& stated = plan.bytes;
  return {.weights = stated.weights.value_or(kept.weights),
          .gradients = stated.gradients.value_or(kept.gradients),
          .main_gradients = stated.main_gradients.value_or(kept.main_gradients),
          .master = stated.master.value_or(kept.master),
          .moments = stated.moments.value_or(is_usual_optimiser ? usual.moments
                                                                : parallel::moment_bytes(plan))};
}

bool is_compiled(const Family& family, std::optional<bool> asked, std::string_view framework) {
  const bool usual = family.compiling == Compiling::always;
  if (asked.value_or(usual) == usual || family.compiling == Compiling::on_request) {
    return asked.value_or(usual);
  }
  throw ConfigError(
      *asked ? fmt::format("compile is true, and this model knows no compiled steps of {} (family "
                           "{}). Leave it out, or name other software, such as torchtitan.",
                           name_or(framework), family.name)
             : fmt::format("compile is false, and {} (family {}) compiles all its steps. Leave it "
                           "out, or name other software.",
                           name_or(framework), family.name));
}

TensorOverlap overlap_of(const Family& family, std::optional<bool> asked, const PlanSizes& plan) {
  const bool can = plan.tensor > 1 && plan.sequence_parallel &&
                   (family.tensor_overlap != TensorOverlap::compiled || plan.compiled);
  return can && asked.value_or(family.overlaps) ? family.tensor_overlap : TensorOverlap::none;
}

bool overlaps_tensor(const Family& family, const parallel::ParallelPlan& plan) {
  PlanSizes sizes;
  sizes.tensor = plan.tensor;
  sizes.sequence_parallel = plan.sequence_parallel;
  sizes.compiled = is_compiled(family, plan.compile, family.name);
  return overlap_of(family, plan.tensor_overlap, sizes) != TensorOverlap::none;
}

PlanSizes sizes_of(const ParallelQuestion& question, const Family& family,
                   const parallel::ParallelPlan& plan) {
  const bool compiled = is_compiled(family, plan.compile, question.framework);
  expect_overlap(question, family, plan, compiled);
  const parallel::PlanBatches batches = parallel::batches_of(plan, facts_of(question));
  PlanSizes sizes;
  sizes.tensor = plan.tensor;
  sizes.stages = plan.stages;
  sizes.data = plan.data;
  sizes.context = plan.context;
  sizes.experts = plan.experts;
  sizes.micro_batch = static_cast<double>(batches.micro_batch.value_or(1));
  sizes.micro_batches = static_cast<double>(batches.micro_batches);
  sizes.chunks = plan.chunks;
  // In groups of one rank, nothing is sharded, so nothing is gathered or copied.
  sizes.zero = plan.zero_group == 1 ? 0 : plan.zero;
  sizes.zero_group = plan.zero_group.value_or(0);
  sizes.sequence_parallel = plan.sequence_parallel;
  sizes.compiled = compiled;
  sizes.tensor_overlap = overlap_of(family, plan.tensor_overlap, sizes);
  sizes.sharded_weights = sizes.zero >= 3;
  if (plan.stages > 1) sizes.copies = parallel::find_schedule(plan.schedule).copies;
  sizes.zero_bubble = plan.schedule == "zero_bubble";
  sizes.recompute = plan.recompute;
  sizes.recompute_share = recompute_share_of(plan, static_cast<double>(question.shape.layers));
  sizes.stated_strides = strides_of(plan);
  const parallel::KeptBytes bytes = parallel::kept_bytes(plan.bytes);
  sizes.gradient_bytes = bytes.main_gradients > 0 ? bytes.main_gradients : bytes.gradients;
  return sizes;
}

memory::MemorySetup memory_setup_of(const Setting& setting, const NumberedPlan& numbered) {
  const PlanSizes& sizes = numbered.sizes;
  const auto count = static_cast<std::int64_t>(std::min(sizes.micro_batches, most_micro_batches));
  memory::MemorySetup setup = setup_of_batches(setting, numbered.plan, {{}, count});
  setup.micro_batch = sizes.micro_batch;
  setup.offloaded = numbered.offloaded;
  setup.stage_layers.assign(sizes.stage_layers.begin(), sizes.stage_layers.end());
  return setup;
}

memory::MemorySetup memory_setup_of(const ParallelQuestion& question, const Setting& setting,
                                    const parallel::ParallelPlan& plan) {
  std::vector<int> layers;
  return memory_setup_of(setting, numbered_plan(question, *setting.family, plan, layers));
}

IterationTime stretched(IterationTime time, double factor) {
  LayerTime& layer = time.layer;
  for (PassTime* pass :
       {&layer.qkv, &layer.projection, &layer.feed_forward, &layer.attention, &layer.elementwise,
        &layer.host, &layer.messages, &layer.device, &layer.layer}) {
    pass->forward *= factor;
    pass->backward *= factor;
  }
  for (double* part : {&layer.gather, &layer.scatter, &time.embedding, &time.head,
                       &time.slowest_stage, &time.stage_message, &time.stage_messages,
                       &time.pipeline, &time.exposed_gradients, &time.update, &time.total}) {
    *part *= factor;
  }
  return time;
}

ParallelAnswer answer_of(const ParallelTimeFile& file, const Setting& setting,
                         const NumberedPlan& numbered, double device_bytes) {
  ParallelAnswer answer;
  answer.plan = numbered.plan;
  answer.plan.bytes = state_bytes_of(*setting.family, numbered.plan, setting.rates.precision);
  answer.sizes = numbered.sizes;
  answer.sizes.stage_layers = {};
  answer.time =
      stretched(plan_time(setting, numbered.sizes, numbered.plan), setting.measured_factor);
  answer.range =
      time_range(file.interval, setting, numbered.sizes, answer.time, {numbered.is_family_named});
  answer.memory = memory::rank_memory(setting.shape, memory_setup_of(setting, numbered),
                                      file.implementation_of(numbered.framework));
  answer.verdict = memory::fits(answer.memory, device_bytes);
  answer.need = memory_need(answer.memory, device_bytes);
  answer.waits = waits_for_memory(file.waiting, *setting.family, answer.need);
  return answer;
}

ParallelAnswer predict_plan(const ParallelTimeFile& file, const ParallelQuestion& question,
                            const ParallelHardware& hardware, const Setting& setting,
                            const parallel::ParallelPlan& plan) {
  parallel::check(plan, static_cast<std::int64_t>(hardware.links.gpus), facts_of(question));
  std::vector<int> layers;
  NumberedPlan numbered = numbered_plan(question, *setting.family, plan, layers);
  numbered.sizes.keeps_gathered_stage =
      plan.zero >= 3 && file.implementation_of(question.framework).keeps_gathered_stage;
  numbered.is_family_named = file.family_of_words(question.framework) != nullptr;
  return answer_of(file, setting, numbered, hardware.memory);
}

double flop_utilisation(const ParallelQuestion& question, const Setting& setting,
                        const ParallelAnswer& answer) {
  const memory::TransformerShape& shape = question.shape;
  double active = memory::parameters(shape) - memory::table_parameters(shape);
  if (shape.experts) {
    const double rest =
        1 - static_cast<double>(shape.experts->active) / static_cast<double>(shape.experts->count);
    for (std::int64_t layer = 0; layer < shape.layers; ++layer) {
      active -= rest * memory::expert_parameters(shape, layer);
    }
  }
  if (shape.tied_embeddings) active += memory::table_parameters(shape);
  const double tokens =
      static_cast<double>(question.global_batch) * static_cast<double>(shape.sequence);
  const double attention = 12.0 * static_cast<double>(shape.layers) *
                           static_cast<double>(shape.heads * shape.head_width) *
                           static_cast<double>(shape.sequence);
  constexpr double passes = 6;  ///< a multiply-add forward, two backward
  return tokens * (passes * active + attention) /
         (answer.seconds() * answer.sizes.gpus() * setting.rates.layer.peak);
}

}  // namespace dlscale::model::parallel_time
