#include "model/memory/transformer_shape.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/error.hpp"

namespace dlscale::model::memory {
namespace {

[[noreturn]] void refuse(const Network& network, std::string_view problem) {
  throw ConfigError(fmt::format(
      "Network {} {}, and memory beyond data parallelism is computed for decoders of equal layers. "
      "Ask for one of these, as gpt2 or llama2_7b.",
      network.name(), problem));
}

/// Layers of one kind, in network order.
template <class Kind>
std::vector<const Layer*> layers_of(const Network& network) {
  std::vector<const Layer*> found;
  for (const Layer& layer : network.layers()) {
    if (std::holds_alternative<Kind>(layer.kind)) found.push_back(&layer);
  }
  return found;
}

const Layer& producer(const Network& network, const Layer& layer, std::size_t input) {
  return network.layer(layer.inputs.at(input));
}

std::vector<const Layer*> causal_scores(const Network& network) {
  const std::vector<const Layer*> scores = layers_of<AttentionScores>(network);
  if (scores.empty()) refuse(network, "has no attention");
  for (const Layer* layer : scores) {
    const auto& kind = std::get<AttentionScores>(layer->kind);
    const auto& first = std::get<AttentionScores>(scores.front()->kind);
    if (!kind.causal) refuse(network, "has attention that is not causal");
    if (kind.heads != first.heads || kind.kv_heads != first.kv_heads ||
        layer->input_shapes != scores.front()->input_shapes) {
      refuse(network, "has layers of attention that differ");
    }
  }
  return scores;
}

void read_attention(const Network& network, TransformerShape& shape) {
  const std::vector<const Layer*> scores = causal_scores(network);
  const auto& kind = std::get<AttentionScores>(scores.front()->kind);
  const ImageShape queries = scores.front()->input_shapes.front();
  shape.layers = static_cast<std::int64_t>(scores.size());
  shape.heads = kind.heads;
  shape.kv_heads = kind.kv_heads;
  shape.head_width = queries.channels / kind.heads;
  shape.sequence = queries.height;
  const auto embeddings = layers_of<Embedding>(network);
  if (embeddings.empty()) refuse(network, "embeds no tokens");
  const auto& table = std::get<Embedding>(embeddings.front()->kind);
  shape.vocabulary = table.rows;
  shape.hidden = table.outputs;
  const auto positions = layers_of<PositionEmbedding>(network);
  if (!positions.empty())
    shape.positions = std::get<PositionEmbedding>(positions.front()->kind).rows;
}

void read_experts(const Network& network, const Layer& inner, TransformerShape& shape) {
  const auto& kind = std::get<ExpertLinear>(inner.kind);
  ExpertShape experts;
  experts.active = kind.active;
  experts.ffn = kind.outputs;
  experts.count = inner.input_shapes.at(1).channels;
  shape.experts = experts;
  shape.ffn = kind.outputs;
  const auto routes = static_cast<std::int64_t>(layers_of<Route>(network).size());
  if (routes != shape.layers) refuse(network, "has experts in some of its layers");
}

/// Reads the inner width from what is multiplied or passes an activation.
void read_feed_forward(const Network& network, TransformerShape& shape) {
  const auto gates = layers_of<SiluMultiply>(network);
  const auto activations = layers_of<Activation>(network);
  const auto relus = layers_of<Relu>(network);
  shape.gated = !gates.empty();
  const auto& inner = shape.gated ? gates : !activations.empty() ? activations : relus;
  if (inner.empty()) refuse(network, "has no feed-forward part");
  const Layer& into = producer(network, *inner.front(), 0);
  if (std::holds_alternative<ExpertLinear>(into.kind)) {
    read_experts(network, into, shape);
  } else {
    shape.ffn = inner.front()->output.channels;
  }
}

}  // namespace

TransformerShape transformer_shape(const Network& network) {
  TransformerShape shape;
  read_attention(network, shape);
  read_feed_forward(network, shape);
  const auto linears = layers_of<Linear>(network);
  shape.tied_embeddings = std::ranges::any_of(linears, [](const Layer* layer) {
    return !std::get<Linear>(layer->kind).weights_of.empty();
  });
  return shape;
}

bool has_experts(const TransformerShape& shape, std::int64_t layer) {
  return shape.experts && layer >= shape.experts->dense_layers;
}

std::array<EqualLayers, 2> equal_layers(const TransformerShape& shape, double first,
                                        double layers) {
  const std::int64_t without = shape.experts ? shape.experts->dense_layers : shape.layers;
  const double dense = std::clamp(static_cast<double>(without) - first, 0.0, layers);
  return {{{dense, 0}, {layers - dense, without}}};
}

double attention_parameters(const TransformerShape& shape) {
  const auto hidden = static_cast<double>(shape.hidden);
  const auto heads = static_cast<double>(shape.heads);
  if (shape.latent) {
    const LatentAttention& latent = *shape.latent;
    const auto query = static_cast<double>(latent.plain_width + latent.turned_width);
    const auto value = static_cast<double>(latent.value_width);
    const auto query_rank = static_cast<double>(latent.query_rank);
    const auto rank = static_cast<double>(latent.key_value_rank);
    return query_rank * (hidden + heads * query + 1) +
           hidden * (rank + static_cast<double>(latent.turned_width)) +
           rank * (heads * (static_cast<double>(latent.plain_width) + value) + 1) +
           heads * value * hidden + hidden;
  }
  const auto width = static_cast<double>(shape.head_width);
  return 2 * hidden * width * (heads + static_cast<double>(shape.kv_heads)) + hidden;
}

double dense_parameters(const TransformerShape& shape, std::int64_t layer) {
  const auto hidden = static_cast<double>(shape.hidden);
  const double products = shape.gated ? 3 : 2;
  if (!has_experts(shape, layer))
    return products * hidden * static_cast<double>(shape.ffn) + hidden;
  return products * hidden * static_cast<double>(shape.experts->shared_ffn) +
         hidden * static_cast<double>(shape.experts->count) + hidden;
}

double expert_parameters(const TransformerShape& shape, std::int64_t layer) {
  if (!has_experts(shape, layer)) return 0;
  return (shape.gated ? 3.0 : 2.0) * static_cast<double>(shape.hidden) *
         static_cast<double>(shape.experts->ffn) * static_cast<double>(shape.experts->count);
}

double table_parameters(const TransformerShape& shape) {
  return static_cast<double>(shape.vocabulary) * static_cast<double>(shape.hidden);
}

double parameters(const TransformerShape& shape) {
  double sum = table_parameters(shape) * (shape.tied_embeddings ? 1 : 2) +
               static_cast<double>((shape.positions + 1) * shape.hidden);
  for (std::int64_t layer = 0; layer < shape.layers; ++layer) {
    sum += attention_parameters(shape) + dense_parameters(shape, layer) +
           expert_parameters(shape, layer);
  }
  return sum;
}

bool is_decoder(const Network& network) {
  try {
    (void)transformer_shape(network);
    return true;
  } catch (const ConfigError&) {
    return false;
  }
}

}  // namespace dlscale::model::memory
