#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/units.hpp"

namespace dlscale::cases {

/// Samples a second. Samples are counted, so that they have no unit.
using PerSecond = Quantity<-1, 0, 0>;

/// Mixture-of-experts layers, of whose experts each token uses only some.
struct MixtureOfExperts {
  std::int64_t experts = 0;            ///< ≥ 1
  std::int64_t experts_per_token = 0;  ///< 1 … experts
  std::int64_t expert_ffn = 0;         ///< ≥ 1: width of the feed-forward part of an expert
  std::int64_t shared_ffn = 0;         ///< ≥ 0: width of the part that every token uses
  std::int64_t dense_layers = 0;       ///< ≥ 0: layers without experts
  auto operator<=>(const MixtureOfExperts&) const = default;
};

/// Multi-head latent attention.
struct LatentAttention {
  std::int64_t q_lora_rank = 0;  ///< ≥ 0; 0: queries are not compressed
  std::int64_t kv_lora_rank = 0;
  std::int64_t qk_nope = 0;
  std::int64_t qk_rope = 0;
  std::int64_t v = 0;
  auto operator<=>(const LatentAttention&) const = default;
};

/// Facts about a network that a case states. All but name and number of parameters are stated for
/// transformers only, and not for all of them.
struct CaseNetwork {
  std::string name;
  std::int64_t parameters = 0;  ///< ≥ 1: trainable scalars
  std::optional<std::int64_t> layers = {};
  std::optional<std::int64_t> hidden = {};
  std::optional<std::int64_t> heads = {};
  std::optional<std::int64_t> seq = {};  ///< tokens in a sequence
  std::optional<std::int64_t> vocab = {};
  std::optional<std::int64_t> ffn = {};
  std::optional<std::int64_t> kv_heads = {};
  std::optional<std::int64_t> head_dim = {};  ///< if it is not hidden / heads
  std::optional<bool> gated_mlp = {};
  std::optional<bool> tied_embeddings = {};  ///< words are decoded by the table that encodes them
  std::optional<std::int64_t> active_parameters = {};  ///< parameters that a token uses
  std::optional<MixtureOfExperts> moe = {};
  std::optional<LatentAttention> mla = {};
  bool operator==(const CaseNetwork&) const = default;
};

/// A link according to its data sheet.
struct CaseLink {
  std::string kind;  ///< "nvlink2", "ethernet-tcp"
  /// Nominal, in one direction: per GPU within a node; per node between nodes, summed over its
  /// cards.
  BytesPerSecond bandwidth = {};
  std::optional<int> nics = {};  ///< ≥ 1: network cards of a node; between nodes only
  bool operator==(const CaseLink&) const = default;
};

/// Bus bandwidths of collectives of `bytes` that were measured on the cluster before, apart from
/// trainings, in the convention of nccl-tests: over all GPUs, and in one node.
struct CaseProbe {
  Bytes bytes = {};
  BytesPerSecond all_reduce = {};
  BytesPerSecond all_gather = {};
  BytesPerSecond node_all_reduce = {};
  BytesPerSecond node_all_gather = {};
  bool operator==(const CaseProbe&) const = default;
};

/// Nominal hardware of a training.
struct CaseCluster {
  std::string gpu;  ///< name on its data sheet: "V100-SXM2-16GB"
  CaseLink intra_node = {};
  std::optional<CaseLink> inter_node = {};  ///< empty only with one node
  std::optional<CaseProbe> probe = {};
  bool operator==(const CaseCluster&) const = default;
};

/// How replicas agree on parameters. `other`: an unknown word, which no model here supports.
enum class Synchronisation { all_reduce, parameter_server, replicated_copy, fsdp, other };
/// The part of the communication that overlaps the backward pass.
enum class Overlap { none, wfbp, bucketed, merged, scheduled, bucketed_async_tp, unknown, other };
/// The source of samples.
enum class Input { synthetic, real, unknown, other };

/// The kinds of parallelism; dp · tp · pp · cp = GPUs.
struct CaseParallelism {
  int dp = 1;                              ///< ≥ 1: replicas
  int tp = 1;                              ///< ≥ 1: tensor-parallel parts
  int pp = 1;                              ///< ≥ 1: stages of the pipeline
  int cp = 1;                              ///< ≥ 1: parts of a sequence
  int ep = 1;                              ///< ≥ 1: parts of the experts
  std::optional<double> micro_batch = {};  ///< > 0: samples
  std::optional<int> virtual_pipeline = {};
  std::string schedule = {};  ///< pipeline schedule: "1f1b"; empty: not stated
  std::optional<bool> sequence_parallel = {};
  /// "none", "selective", "full", "unknown"; empty: not stated.
  std::string recompute = {};
  std::optional<int> zero_stage = {};  ///< 0 … 3
  std::optional<bool> compile = {};
  std::optional<bool> async_tp = {};   ///< tensor-parallel messages run under products
  std::vector<int> stage_layers = {};  ///< layers of each stage; empty: not stated
  bool operator==(const CaseParallelism&) const = default;
};

/// The software and the settings of a training.
struct CaseRun {
  std::string framework;  ///< free text
  Synchronisation synchronisation = Synchronisation::other;
  Overlap overlap = Overlap::unknown;
  Input input = Input::unknown;
  std::string attention = {};  ///< its kernels: "flash"; empty: not stated
  CaseParallelism parallel = {};
  bool operator==(const CaseRun&) const = default;
};

/// A measured point of the same series at a smaller scale, which a predictor may use.
struct GivenPoint {
  int gpus = 0;               ///< ≥ 1
  PerSecond throughput = {};  ///< > 0: samples a second of the whole job
  double batch_per_gpu = 0;   ///< > 0
  double global_batch = 0;    ///< batch_per_gpu · gpus
  std::string note = {};
  /// Whether its time is that of computing alone, without update and input. Empty: not stated.
  std::optional<bool> computes_only = {};
  /// Time of an iteration.
  [[nodiscard]] Seconds iteration() const { return global_batch / throughput; }
  bool operator==(const GivenPoint&) const = default;
};

/// A training whose speed is to be predicted (schema dlscale.case/1). It has everything that a
/// predictor may read. Its measurements are an Outcome (model/published/cases/prediction.hpp),
/// which a CaseFile stores beside it.
struct ScalingCase {
  std::string id;   ///< "set/slug", unique in its file
  std::string set;  ///< the measured data set of the training
  CaseNetwork network = {};
  std::string sample_unit;      ///< "image", "sequence", "token"
  std::string precision;        ///< "fp32", "mixed-fp16", …
  Bytes gradient_element = {};  ///< bytes of a gradient's element on the wire: 2 or 4
  /// Samples per GPU between two gradient synchronisations; a fraction if GPUs share a sample.
  double batch_per_gpu = 0;
  double global_batch = 0;  ///< batch_per_gpu · gpus
  int gpus = 0;             ///< ≥ 1: number to predict for
  int gpus_per_node = 0;    ///< ≥ 1: connected by the intra-node link
  int nodes = 0;            ///< ⌈gpus / gpus_per_node⌉
  CaseCluster cluster = {};
  CaseRun run = {};
  std::vector<GivenPoint> given = {};
  std::string source = {};   ///< publisher; empty: not stated
  std::string licence = {};  ///< licence of the source
  /// Dotted names of fields that the source does not state.
  std::vector<std::string> assumed = {};
  bool operator==(const ScalingCase&) const = default;
};

}  // namespace dlscale::cases
