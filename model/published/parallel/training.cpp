#include "model/published/parallel/training.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/error.hpp"
#include "core/cluster/device_memory.hpp"
#include "model/memory/implementation.hpp"
#include "model/parallel/time/attention.hpp"

namespace dlscale::model::parallel_time {
namespace {

using cases::CaseNetwork;
using cases::CaseParallelism;
using cases::ScalingCase;
using parallel::Recompute;

std::int64_t stated(const std::optional<std::int64_t>& size, std::string_view name) {
  if (size) return *size;
  throw ConfigError(
      fmt::format("network.{} is not stated, and times of layers follow from it. Add it.", name));
}

std::int64_t head_width(const CaseNetwork& network, const memory::TransformerShape& shape) {
  if (network.head_dim) return *network.head_dim;
  if (!network.mla && shape.hidden % shape.heads != 0) {
    throw ConfigError(
        fmt::format("network.hidden is {}, which {} heads do not divide. State network.head_dim.",
                    shape.hidden, shape.heads));
  }
  return std::max<std::int64_t>(1, shape.hidden / shape.heads);
}

memory::TransformerShape shape_of(const CaseNetwork& network) {
  memory::TransformerShape shape;
  shape.layers = stated(network.layers, "layers");
  shape.hidden = stated(network.hidden, "hidden");
  shape.heads = stated(network.heads, "heads");
  shape.sequence = stated(network.seq, "seq");
  shape.vocabulary = stated(network.vocab, "vocab");
  shape.ffn = stated(network.ffn, "ffn");
  shape.kv_heads = network.kv_heads.value_or(shape.heads);
  shape.head_width = head_width(network, shape);
  shape.gated = network.gated_mlp.value_or(false);
  shape.tied_embeddings = network.tied_embeddings.value_or(false);
  if (const auto& moe = network.moe) {
    shape.experts = memory::ExpertShape{moe->experts, moe->experts_per_token, moe->expert_ffn,
                                        moe->shared_ffn, moe->dense_layers};
    if (moe->dense_layers > shape.layers) {
      throw ConfigError(fmt::format("network.moe.dense_layers is {}, of {} layers. Correct one.",
                                    moe->dense_layers, shape.layers));
    }
  }
  if (const auto& mla = network.mla) {
    shape.latent = memory::LatentAttention{mla->q_lora_rank, mla->kv_lora_rank, mla->qk_nope,
                                           mla->qk_rope, mla->v};
  }
  return shape;
}

Recompute recompute_of(const std::string& word) {
  if (word.empty() || word == "unknown" || word == "none") return Recompute::none;
  if (word == "selective") return Recompute::selective;
  if (word == "full") return Recompute::full;
  throw ConfigError(
      fmt::format("run.parallel.recompute is {}. Write none, selective, full or unknown.", word));
}

bool has_word(const std::string& text, std::string_view word) {
  return std::ranges::search(text, word, [](char one, char other) {
           return std::tolower(static_cast<unsigned char>(one)) == other;
         }).begin() != text.end();
}

void expect_stages(const CaseParallelism& split, std::int64_t layers) {
  if (split.pp > layers) {
    throw ConfigError(
        fmt::format("run.parallel.pp is {}, of {} layers. Use fewer stages.", split.pp, layers));
  }
  if (split.stage_layers.empty()) return;
  const auto sum =
      std::accumulate(split.stage_layers.begin(), split.stage_layers.end(), std::int64_t{0});
  if (std::ssize(split.stage_layers) != split.pp || sum != layers) {
    throw ConfigError(fmt::format(
        "run.parallel.stage_layers has {} stages with {} layers, of {} with {}. Correct it.",
        split.stage_layers.size(), sum, split.pp, layers));
  }
}

void read_schedule(const CaseParallelism& split, PlanSizes& plan) {
  plan.both_directions = has_word(split.schedule, "dual");
  plan.zero_bubble =
      !plan.both_directions && (has_word(split.schedule, "zero") || has_word(split.schedule, "zb"));
}

/// The schedule that a case names, else the usual one.
std::string schedule_of(const CaseParallelism& split, const PlanSizes& sizes) {
  if (sizes.zero_bubble) return "zero_bubble";
  if (has_word(split.schedule, "gpipe") || has_word(split.schedule, "afab")) return "gpipe";
  return sizes.chunks > 1 ? "interleaved" : "1f1b";
}

/// The plan of the sizes in whole numbers. States are those of the family, since cases of times do
/// not say them.
parallel::ParallelPlan plan_of(const CaseParallelism& split, const PlanSizes& sizes) {
  parallel::ParallelPlan plan;
  plan.data = split.dp;
  plan.tensor = split.tp;
  plan.sequence_parallel = sizes.sequence_parallel;
  plan.context = split.cp;
  plan.experts = split.ep;
  plan.stages = split.pp;
  plan.chunks = split.virtual_pipeline.value_or(1);
  plan.schedule = schedule_of(split, sizes);
  plan.zero = sizes.sharded_weights ? 3 : sizes.zero;
  plan.recompute = sizes.recompute;
  return plan;
}

/// Micro-batches of an iteration.
double micro_batches(const ScalingCase& training, double global_batch, double data,
                     double micro_batch) {
  const double sample =
      training.sample_unit == "token" ? static_cast<double>(*training.network.seq) : 1;
  return std::max(1.0, std::nearbyint(global_batch / sample / (data * micro_batch)));
}

/// A run that sent messages under products did so in pieces, unless its family knows another way.
TensorOverlap measured_overlap(const Family& family, std::optional<bool> asked,
                               const PlanSizes& plan) {
  const TensorOverlap own = overlap_of(family, asked, plan);
  return asked == true && own == TensorOverlap::none ? TensorOverlap::pieces : own;
}

PlanSizes sizes_of(const ScalingCase& training, const Family& family) {
  const CaseParallelism& split = training.run.parallel;
  PlanSizes plan;
  plan.tensor = split.tp;
  plan.stages = split.pp;
  plan.data = split.dp;
  plan.context = split.cp;
  plan.experts = split.ep;
  plan.chunks = split.virtual_pipeline.value_or(1);
  plan.micro_batch = split.micro_batch.value_or(1);
  plan.micro_batches = micro_batches(training, training.global_batch, plan.data, plan.micro_batch);
  plan.zero = split.zero_stage.value_or(0);
  // No framework cuts tensors and experts at once without it.
  plan.sequence_parallel = split.sequence_parallel.value_or(split.tp > 1 && split.ep > 1);
  plan.compiled = is_compiled(family, split.compile, training.run.framework);
  plan.tensor_overlap = measured_overlap(family, split.async_tp, plan);
  plan.sharded_weights =
      training.run.synchronisation == cases::Synchronisation::fsdp || plan.zero >= 3;
  plan.hides_gradients = training.run.overlap != cases::Overlap::none;
  plan.recompute = recompute_of(split.recompute);
  plan.gradient_bytes = training.gradient_element.si();
  read_schedule(split, plan);
  return plan;
}

Links links_of(const ScalingCase& training) {
  Links links;
  links.node_gpus = training.gpus_per_node;
  links.gpus = training.gpus;
  links.inside = training.cluster.intra_node.bandwidth.si();
  if (const auto& network = training.cluster.inter_node) {
    links.network = network->bandwidth.si();
    links.starts_slowly = starts_slowly(network->kind);
  }
  if (const auto& probe = training.cluster.probe) {
    links.probe = LinkProbe{probe->bytes.si(), probe->all_reduce.si(), probe->all_gather.si(),
                            probe->node_all_reduce.si(), probe->node_all_gather.si()};
  }
  return links;
}

/// The given points, which differ from the training by their number of replicas.
std::vector<MeasuredPoint> given_points(const ScalingCase& training, const PlanSizes& plan,
                                        const parallel::ParallelPlan& schedule) {
  std::vector<MeasuredPoint> points;
  const double replica = plan.gpus() / plan.data;
  for (const cases::GivenPoint& given : training.given) {
    const double data = given.gpus / replica;
    if (data < 1 || data != std::floor(data)) {
      throw ConfigError(fmt::format(
          "A given point has {} GPUs, and a replica takes {}. Give points of whole replicas.",
          given.gpus, replica));
    }
    MeasuredPoint point{plan, links_of(training), given.iteration().si(), schedule};
    point.plan.data = data;
    point.schedule.data = static_cast<int>(data);
    point.plan.micro_batches = micro_batches(training, given.global_batch, data, plan.micro_batch);
    point.links.gpus = given.gpus;
    points.push_back(point);
  }
  return points;
}

}  // namespace

bool goes_beyond_data_parallelism(const ScalingCase& training) {
  const CaseParallelism& split = training.run.parallel;
  return split.tp > 1 || split.pp > 1 || split.cp > 1 || split.ep > 1 ||
         split.zero_stage.value_or(0) > 0 || !split.recompute.empty() ||
         training.run.synchronisation == cases::Synchronisation::fsdp;
}

ParallelTraining parallel_training(const ScalingCase& training, const DeviceCatalogue& devices,
                                   const ParallelTimeFile& file) {
  if (training.sample_unit != "sequence" && training.sample_unit != "token") {
    throw ConfigError(fmt::format(
        "sample_unit is {}, and this model knows transformers of sequences. Leave the case out.",
        training.sample_unit));
  }
  const memory::TransformerShape shape = shape_of(training.network);
  expect_stages(training.run.parallel, shape.layers);
  const TimeConstants& constants = file.constants;
  const DeviceSheet& sheet = devices.at(training.cluster.gpu);
  const DeviceFacts facts = device_facts(sheet, constants);
  const DeviceRates rates = device_rates(facts, parse_precision(training.precision), constants);
  const NamedFamily family = family_of(file, training.run.framework, rates);
  ParallelTraining read(Setting{
      constants, family.family,
      kernel_on(family.family->attention, facts.capability, training.run.attention == "flash"),
      rates, Collectives(constants, links_of(training)), shape});
  read.plan = sizes_of(training, *family.family);
  read.plan.keeps_gathered_stage =
      file.implementation_of(training.run.framework).keeps_gathered_stage;
  if (training.sample_unit == "token") {
    read.plan.micro_batches =
        std::max(1.0, std::nearbyint(training.global_batch / static_cast<double>(shape.sequence) /
                                     (read.plan.data * read.plan.micro_batch)));
  }
  read.stage_layers = training.run.parallel.stage_layers;
  read.plan.stage_layers = read.stage_layers;
  read.schedule = plan_of(training.run.parallel, read.plan);
  read.given = given_points(training, read.plan, read.schedule);
  read.framework = training.run.framework;
  read.is_family_named = family.is_named;
  read.device_bytes = usable_memory(sheet.memory).si();
  read.is_recompute_known = training.run.parallel.recompute != "unknown";
  return read;
}

bool waits_for_memory(const ParallelTimeFile& file, const ParallelTraining& training) {
  return answer_of(file, training.setting, training.numbered(), training.device_bytes)
             .waits.likely > 1;
}

}  // namespace dlscale::model::parallel_time
