#pragma once
#include <array>
#include <cstdint>
#include <optional>

#include "core/network/network.hpp"

namespace dlscale::model::memory {

/// Experts of a transformer, of which each token runs a few [arXiv:2401.04088, arXiv:2405.04434].
struct ExpertShape {
  std::int64_t count = 1;         ///< ≥ 1: experts of a layer, shared ones apart
  std::int64_t active = 1;        ///< 1 … count: experts that a token runs
  std::int64_t ffn = 1;           ///< ≥ 1: inner width of one expert
  std::int64_t shared_ffn = 0;    ///< ≥ 0: inner width of the experts that every token runs
  std::int64_t dense_layers = 0;  ///< ≥ 0: first layers, which have no experts
};

/// Ranks and widths of multi-head latent attention [arXiv:2405.04434, section 2.1].
struct LatentAttention {
  std::int64_t query_rank = 1;
  std::int64_t key_value_rank = 1;
  std::int64_t plain_width = 1;   ///< of a head's query and key, without position
  std::int64_t turned_width = 1;  ///< of a head's query and key, turned by RoPE
  std::int64_t value_width = 1;
};

/// Sizes of a transformer of equal layers, as far as its memory depends on them.
struct TransformerShape {
  std::int64_t layers = 1;       ///< ≥ 1
  std::int64_t hidden = 1;       ///< ≥ 1: features of a token between layers
  std::int64_t heads = 1;        ///< ≥ 1
  std::int64_t kv_heads = 1;     ///< 1 … heads
  std::int64_t head_width = 1;   ///< ≥ 1: features of a head
  std::int64_t ffn = 1;          ///< ≥ 1: inner width of the feed-forward part
  bool gated = false;            ///< two products lead into that part, one of which gates the other
  std::int64_t vocabulary = 1;   ///< ≥ 1
  std::int64_t sequence = 1;     ///< ≥ 1: tokens of a sample
  bool tied_embeddings = false;  ///< words are decoded by the table that encodes them
  std::int64_t positions = 0;    ///< ≥ 0: rows of a learned table of positions
  std::optional<ExpertShape> experts = {};
  std::optional<LatentAttention> latent = {};
};

/// The sizes of a network of equal decoder layers, read from its layers. Throws ConfigError that
/// names the network and what it lacks, for networks without causal attention, with two sequences,
/// or with layers that differ.
TransformerShape transformer_shape(const Network& network);

/// Whether transformer_shape() has an answer.
bool is_decoder(const Network& network);

/// Parameters of one layer's attention, with the norm before it; biases are left out.
double attention_parameters(const TransformerShape& shape);
/// Parameters of the dense part of layer `layer`, 0 … layers - 1, with the norm before it: the
/// feed-forward part, or shared experts and router.
double dense_parameters(const TransformerShape& shape, std::int64_t layer);
/// Parameters of the experts of that layer that not every token runs; 0 if it has none.
double expert_parameters(const TransformerShape& shape, std::int64_t layer);
/// Parameters of the table of words.
double table_parameters(const TransformerShape& shape);
/// Parameters of all layers, tables and the last norm. Without biases, at most 0.3 % too low.
double parameters(const TransformerShape& shape);

/// Whether layer `layer` has experts.
bool has_experts(const TransformerShape& shape, std::int64_t layer);

/// Equal layers of a stage: how many, and one of them. Parts of a layer count by their share.
struct EqualLayers {
  double count = 0;
  std::int64_t layer = 0;
};
/// The layers from `first` to `first + layers`, those without and those with experts.
std::array<EqualLayers, 2> equal_layers(const TransformerShape& shape, double first, double layers);

}  // namespace dlscale::model::memory
