#include "model/roofline/sheet/transformer_parts.hpp"

#include <algorithm>
#include <cstddef>
#include <variant>

#include "core/base/error.hpp"
#include "model/roofline/sheet/layer_is.hpp"

namespace dlscale::model::sheet {
namespace {

/// Share of the tokens whose word is masked, and the least number of them in a sequence
/// [arXiv:1810.04805: 15 %; 20 of 128, 80 of 512 in its implementations].
constexpr double masked_share = 0.156;
constexpr double least_masked = 20;

bool is_causal(const Layer& layer) {
  const auto* scores = std::get_if<AttentionScores>(&layer.kind);
  return scores != nullptr && scores->causal;
}

bool guesses_masked_words(const Network& network) {
  const auto& layers = network.layers();
  return std::ranges::any_of(layers, is<TokenCrossEntropy>) &&
         std::ranges::none_of(layers, is_causal);
}

/// The layer that a projection, or several after each other, reads.
const Layer& read_by_projection(const Network& network, LayerId id) {
  while (is<Linear, Rope>(network.layer(id))) id = network.layer(id).inputs.front();
  return network.layer(id);
}

/// The layer that a projection reads, or the one whose outputs that layer remembers.
LayerId source_of(const Network& network, LayerId id) {
  const Layer& read = read_by_projection(network, id);
  return is<AttentionMemory>(read) ? read.inputs.front() : read.id;
}

}  // namespace

TransformerParts::TransformerParts(const Network& network)
    : network_(&network),
      parts_(network.layers().size(), TransformerPart::block),
      guesses_masked_words_(guesses_masked_words(network)) {
  EXPECT(network.has_attention());
  find_embeddings();
  find_head();
}

/// Tables, their sums, and norms that nothing but the first block reads.
void TransformerParts::find_embeddings() {
  const auto part = [&](LayerId id) -> TransformerPart& { return parts_[id.index()]; };
  const auto is_table = [&](LayerId id) {
    return is<Embedding, PositionEmbedding>(network_->layer(id)) ||
           part(id) == TransformerPart::embedded;
  };
  for (const Layer& layer : network_->layers()) {
    if (is<Embedding>(layer)) part(layer.id) = TransformerPart::embedding;
    if (is<Sum>(layer) && std::ranges::all_of(layer.inputs, is_table)) {
      part(layer.id) = TransformerPart::embedded;
      for (const LayerId input : layer.inputs) {
        if (input != layer.inputs.front()) part(input) = TransformerPart::embedded;
      }
    }
    if (is<LayerNorm, RmsNorm, Dropout>(layer) && is_table(layer.inputs.front()) &&
        network_->consumers(layer.inputs.front()).size() == 1) {
      part(layer.id) = TransformerPart::embedded;
    }
  }
}

/// All behind the last sum and its norm; words where a loss over tokens follows.
void TransformerParts::find_head() {
  const auto& layers = network_->layers();
  const auto last = std::find_if(layers.rbegin(), layers.rend(), is<Sum>);
  if (last == layers.rend()) return;
  const std::size_t end = last->id.index();
  std::vector<bool> ends_block(layers.size(), false);
  ends_block[end] = true;
  for (std::size_t at = end + 1; at < layers.size(); ++at) {
    const bool follows = ends_block[layers[at].inputs.front().index()];
    ends_block[at] = follows && is<LayerNorm, RmsNorm, Dropout>(layers[at]);
    if (!ends_block[at]) parts_[at] = TransformerPart::other_head;
  }
  for (const Layer& loss : layers) {
    if (!is<TokenCrossEntropy>(loss)) continue;
    for (LayerId id = loss.id; parts_[id.index()] == TransformerPart::other_head;
         id = network_->layer(id).inputs.front()) {
      parts_[id.index()] = TransformerPart::words;
    }
  }
}

bool TransformerParts::is_cross(const Layer& scores) const {
  return source_of(*network_, scores.inputs[0]) != source_of(*network_, scores.inputs[1]);
}

double TransformerParts::own_keys(const Layer& scores) const {
  const Layer& read = read_by_projection(*network_, scores.inputs[1]);
  if (!is<AttentionMemory>(read)) return 1;
  return static_cast<double>(read.input_shapes.front().height) / read.output.height;
}

double TransformerParts::computed_rows(LayerId layer, const ComputeTraits& way) const {
  const TransformerPart part = of(layer);
  if (!guesses_masked_words_) return 1;
  if (part != TransformerPart::words && part != TransformerPart::other_head) return 1;
  if (way.head == DecodedTokens::none) return 0;
  if (part == TransformerPart::other_head || way.head == DecodedTokens::all) return 1;
  const double tokens = network_->input().height;
  return std::min(1.0, std::max(least_masked, masked_share * tokens / way.tokens) / tokens);
}

}  // namespace dlscale::model::sheet
