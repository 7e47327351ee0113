#include "model/published/cases/scaling_case.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>

#include "model/published/cases/json_fields.hpp"

namespace dlscale::cases {
namespace {

MixtureOfExperts read_experts(const JsonFields& moe) {
  moe.expect_spelling({"experts", "experts_per_token", "expert_ffn", "shared_ffn", "dense_layers"});
  MixtureOfExperts read;
  read.experts = moe.whole("experts", scalars);
  read.experts_per_token = moe.whole("experts_per_token", {1, read.experts});
  read.expert_ffn = moe.whole("expert_ffn", scalars);
  read.shared_ffn = moe.whole_if("shared_ffn", {0, scalars.most}).value_or(0);
  read.dense_layers = moe.whole_if("dense_layers", {0, scalars.most}).value_or(0);
  return read;
}

LatentAttention read_attention(const JsonFields& mla) {
  mla.expect_spelling({"q_lora_rank", "kv_lora_rank", "qk_nope", "qk_rope", "v"});
  LatentAttention read;
  read.q_lora_rank = mla.whole_if("q_lora_rank", {0, scalars.most}).value_or(0);
  read.kv_lora_rank = mla.whole("kv_lora_rank", scalars);
  read.qk_nope = mla.whole("qk_nope", scalars);
  read.qk_rope = mla.whole("qk_rope", scalars);
  read.v = mla.whole("v", scalars);
  return read;
}

CaseNetwork read_network(const JsonFields& network) {
  network.expect_spelling({"name", "parameters", "layers", "hidden", "heads", "seq", "vocab", "ffn",
                           "kv_heads", "head_dim", "gated_mlp", "tied_embeddings",
                           "active_parameters", "moe", "mla"});
  CaseNetwork read;
  read.name = network.text("name");
  read.parameters = network.whole("parameters", scalars);
  read.layers = network.whole_if("layers", scalars);
  read.hidden = network.whole_if("hidden", scalars);
  read.heads = network.whole_if("heads", scalars);
  read.seq = network.whole_if("seq", scalars);
  read.vocab = network.whole_if("vocab", scalars);
  read.ffn = network.whole_if("ffn", scalars);
  read.kv_heads = network.whole_if("kv_heads", scalars);
  read.head_dim = network.whole_if("head_dim", scalars);
  read.gated_mlp = network.flag_if("gated_mlp");
  read.tied_embeddings = network.flag_if("tied_embeddings");
  read.active_parameters = network.whole_if("active_parameters", scalars);
  if (const auto moe = network.object_if("moe")) read.moe = read_experts(*moe);
  if (const auto mla = network.object_if("mla")) read.mla = read_attention(*mla);
  return read;
}

CaseProbe read_probe(const JsonFields& probe) {
  probe.expect_spelling({"bytes", "all_reduce_busbw", "all_gather_busbw", "node_all_reduce_busbw",
                         "node_all_gather_busbw", "reduce_scatter_busbw",
                         "node_reduce_scatter_busbw"});
  const auto bandwidth = [&](std::string_view key) {
    return BytesPerSecond(probe.real(key, bandwidths));
  };
  return {Bytes(probe.real("bytes", {1, 1e15})), bandwidth("all_reduce_busbw"),
          bandwidth("all_gather_busbw"), bandwidth("node_all_reduce_busbw"),
          bandwidth("node_all_gather_busbw")};
}

CaseCluster read_case_cluster(const JsonFields& cluster) {
  cluster.expect_spelling({"gpu", "intra_node", "inter_node", "probe"});
  CaseCluster read;
  read.gpu = cluster.text("gpu");
  read.intra_node = read_link(cluster.object("intra_node"));
  if (const auto link = cluster.object_if("inter_node")) read.inter_node = read_link(*link);
  if (const auto probe = cluster.object_if("probe")) read.probe = read_probe(*probe);
  return read;
}

CaseParallelism read_parallelism(const JsonFields& parallel) {
  parallel.expect_spelling({"micro_batch", "virtual_pipeline", "schedule", "sequence_parallel",
                            "recompute", "zero_stage", "compile", "async_tp", "stage_layers"});
  CaseParallelism read;
  read.dp = parallel.count("dp", workers);
  read.tp = parallel.count("tp", workers);
  read.pp = parallel.count("pp", workers);
  read.cp = parallel.count_if("cp", workers).value_or(1);
  read.ep = parallel.count_if("ep", workers).value_or(1);
  read.micro_batch = parallel.real_if("micro_batch", samples);
  read.virtual_pipeline = parallel.count_if("virtual_pipeline", workers);
  read.schedule = parallel.text_if("schedule");
  read.sequence_parallel = parallel.flag_if("sequence_parallel");
  read.recompute = parallel.text_if("recompute");
  read.zero_stage = parallel.count_if("zero_stage", {0, 3});
  read.compile = parallel.flag_if("compile");
  read.async_tp = parallel.flag_if("async_tp");
  for (const double layers : parallel.reals_if("stage_layers", {0, 1e6})) {
    if (layers != std::floor(layers)) {
      parallel.refuse("stage_layers", "and stages hold whole layers");
    }
    read.stage_layers.push_back(static_cast<int>(layers));
  }
  return read;
}

CaseRun read_run(const JsonFields& run) {
  run.expect_spelling(
      {"framework", "synchronisation", "overlap", "input", "attention", "parallel"});
  CaseRun read;
  read.framework = run.text("framework");
  read.synchronisation =
      parse_synchronisation(run.text("synchronisation"), run.where("synchronisation"));
  read.overlap = parse_overlap(run.text("overlap"), run.where("overlap"));
  read.input = parse_input(run.text("input"), run.where("input"));
  read.attention = run.text_if("attention");
  read.parallel = read_parallelism(run.object("parallel"));
  return read;
}

/// A tolerance allows for batches that are rounded because GPUs share samples.
bool is_product(double global_batch, double batch_per_gpu, int gpus) {
  constexpr double rounding = 1e-6;
  return std::abs(batch_per_gpu * gpus - global_batch) <= rounding * global_batch;
}

void expect_batch(const JsonFields& of, double global_batch, double batch_per_gpu, int gpus) {
  if (is_product(global_batch, batch_per_gpu, gpus)) return;
  of.refuse("global_batch",
            fmt::format("and batch_per_gpu · gpus is {} · {}", batch_per_gpu, gpus));
}

GivenPoint read_given_point(const JsonFields& given) {
  given.expect_spelling({"gpus", "samples_per_s", "iteration_s", "batch_per_gpu", "global_batch",
                         "note", "computes_only"});
  GivenPoint read;
  read.gpus = given.count("gpus", workers);
  read.batch_per_gpu = given.real("batch_per_gpu", samples);
  read.global_batch = given.real("global_batch", samples);
  expect_batch(given, read.global_batch, read.batch_per_gpu, read.gpus);
  if (given.has("iteration_s")) {
    read.throughput = read.global_batch / Seconds(given.real("iteration_s", seconds));
  } else {
    read.throughput = PerSecond(given.real("samples_per_s", rates));
  }
  read.note = given.text_if("note");
  read.computes_only = given.flag_if("computes_only");
  return read;
}

/// Checks that fields do not contradict each other.
void expect_agreement(const JsonFields& line, const ScalingCase& read) {
  expect_batch(line, read.global_batch, read.batch_per_gpu, read.gpus);
  const int nodes = (read.gpus - 1) / read.gpus_per_node + 1;
  if (read.nodes != nodes) {
    line.refuse("nodes", fmt::format("and {} GPUs on nodes of {} fill {}", read.gpus,
                                     read.gpus_per_node, nodes));
  }
  if (read.nodes > 1 && !read.cluster.inter_node) {
    line.refuse("nodes", "and cluster.inter_node is not told, which only one node can do without");
  }
  const CaseParallelism& split = read.run.parallel;
  const double parts = static_cast<double>(split.dp) * split.tp * split.pp * split.cp;
  if (parts != read.gpus) {
    line.refuse("gpus", fmt::format("and run.parallel splits over dp · tp · pp · cp = {} · {} · {} "
                                    "· {}",
                                    split.dp, split.tp, split.pp, split.cp));
  }
}

}  // namespace

ScalingCase read_scaling_case(const JsonFields& line) {
  line.expect_spelling({"schema",
                        "id",
                        "set",
                        "network",
                        "sample_unit",
                        "precision",
                        "gradient_bytes_per_element",
                        "batch_per_gpu",
                        "global_batch",
                        "gpus",
                        "gpus_per_node",
                        "nodes",
                        "cluster",
                        "run",
                        "given",
                        "measured",
                        "noise",
                        "quality",
                        "weight",
                        "source",
                        "licence",
                        "assumed"});
  ScalingCase read;
  read.id = line.text("id");
  read.set = line.text("set");
  expect_own_set(line);
  read.network = read_network(line.object("network"));
  read.sample_unit = line.text("sample_unit");
  read.precision = line.text("precision");
  read.gradient_element = Bytes(line.real("gradient_bytes_per_element", {0.125, 16}));
  read.batch_per_gpu = line.real("batch_per_gpu", samples);
  read.global_batch = line.real("global_batch", samples);
  read.gpus = line.count("gpus", workers);
  read.gpus_per_node = line.count("gpus_per_node", workers);
  read.nodes = line.count("nodes", workers);
  read.cluster = read_case_cluster(line.object("cluster"));
  read.run = read_run(line.object("run"));
  for (const JsonFields& given : line.objects("given", 1000)) {
    read.given.push_back(read_given_point(given));
  }
  read.source = line.text_if("source");
  read.licence = line.text_if("licence");
  read.assumed = line.texts_if("assumed");
  expect_agreement(line, read);
  return read;
}

Outcome read_scaling_outcome(const JsonFields& line) {
  Outcome read = read_outcome(line);
  const auto measured = line.object_if("measured");
  if (!measured) return read;
  measured->expect_spelling({"samples_per_s", "samples_per_s_std", "iteration_s"});
  Measured told;
  if (measured->has("samples_per_s") || !measured->has("iteration_s")) {
    told.values = {measured->real("samples_per_s", rates)};
    told.deviation = measured->real_if("samples_per_s_std", {0, rates.most});
  } else {
    told.unit = CaseUnit::iteration_s;
    told.values = {measured->real("iteration_s", seconds)};
  }
  if (const auto noise = line.real_if("noise", fractions)) told.noise = {*noise};
  read.measured = told;
  return read;
}

}  // namespace dlscale::cases
