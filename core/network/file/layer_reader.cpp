#include "core/network/file/layer_reader.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/suggest.hpp"

namespace dlscale {
namespace {

constexpr IntegerRange count_range{1, 1 << 20};
constexpr IntegerRange pad_range{0, 1 << 20};
constexpr NumberRange any_positive{0, 1e9};

struct Window {
  int height;
  int width;
};

/// Reads one number for both directions, or [height, width].
Window read_window(const ConfigMap& map, std::string_view key, IntegerRange range) {
  const std::vector<int> sizes = map.integers(key, range);
  if (sizes.empty() || sizes.size() > 2) {
    map.refuse(key, "neither one number nor two", "Write a number, or [height, width].");
  }
  return {sizes.front(), sizes.back()};
}

Window read_window_or(const ConfigMap& map, std::string_view key, int absent, IntegerRange range) {
  return map.has(key) ? read_window(map, key, range) : Window{absent, absent};
}

LayerKind read_convolution(const ConfigMap& map) {
  Convolution kind;
  kind.out_channels = map.integer("out_channels", count_range);
  const auto [height, width] = read_window(map, "kernel", count_range);
  kind.kernel_h = height;
  kind.kernel_w = width;
  const Window stride = read_window_or(map, "stride", kind.stride, count_range);
  const Window pad = read_window_or(map, "pad", kind.pad, pad_range);
  kind.stride = stride.height;
  kind.stride_w = stride.width;
  kind.pad = pad.height;
  kind.pad_w = pad.width;
  kind.dilation = map.integer_or("dilation", kind.dilation, count_range);
  kind.groups = map.integer_or("groups", kind.groups, count_range);
  kind.bias = map.flag_or("bias", kind.bias);
  return kind;
}

LayerKind read_pooling(const ConfigMap& map, PoolingKind pooling_kind) {
  Pooling kind;
  kind.kind = pooling_kind;
  const auto [height, width] = read_window(map, "kernel", count_range);
  kind.kernel_h = height;
  kind.kernel_w = width;
  kind.stride = map.integer("stride", count_range);
  kind.pad = map.integer_or("pad", kind.pad, pad_range);
  kind.ceil_mode = map.flag_or("ceil_mode", kind.ceil_mode);
  return kind;
}

LayerKind read_max_pooling(const ConfigMap& map) {
  return read_pooling(map, PoolingKind::max);
}

LayerKind read_average_pooling(const ConfigMap& map) {
  return read_pooling(map, PoolingKind::average);
}

LayerKind read_global_average_pooling(const ConfigMap& /*map*/) {
  return Pooling{.kind = PoolingKind::average};
}

LayerKind read_lrn(const ConfigMap& map) {
  Lrn kind;
  kind.size = map.integer_or("size", kind.size, count_range);
  kind.alpha = map.number_or("alpha", kind.alpha, any_positive);
  kind.beta = map.number_or("beta", kind.beta, any_positive);
  kind.k = map.number_or("k", kind.k, any_positive);
  return kind;
}

LayerKind read_batch_norm(const ConfigMap& map) {
  BatchNorm kind;
  kind.epsilon = map.number_or("epsilon", kind.epsilon, any_positive);
  return kind;
}

LayerKind read_fully_connected(const ConfigMap& map) {
  FullyConnected kind;
  kind.outputs = map.integer("outputs", count_range);
  kind.bias = map.flag_or("bias", kind.bias);
  return kind;
}

LayerKind read_linear(const ConfigMap& map) {
  Linear kind;
  kind.outputs = map.integer("outputs", count_range);
  kind.bias = map.flag_or("bias", kind.bias);
  kind.weights_of = map.text_or("weights_of", "");
  return kind;
}

LayerKind read_embedding(const ConfigMap& map) {
  return Embedding{map.integer("rows", count_range), map.integer("outputs", count_range),
                   map.text_or("weights_of", "")};
}

LayerKind read_position_embedding(const ConfigMap& map) {
  return PositionEmbedding{map.integer("rows", count_range), map.integer("outputs", count_range)};
}

LayerKind read_relative_positions(const ConfigMap& map) {
  return RelativePositions{map.integer("buckets", count_range), map.integer("heads", count_range)};
}

LayerKind read_attention_memory(const ConfigMap& map) {
  return AttentionMemory{map.integer("tokens", count_range)};
}

LayerKind read_relative_scores(const ConfigMap& map) {
  return RelativeScores{map.integer("heads", count_range)};
}

LayerKind read_to_tokens(const ConfigMap& map) {
  return ToTokens{map.flag_or("class_token", false), map.flag_or("positions", false)};
}

LayerKind read_attention_scores(const ConfigMap& map) {
  AttentionScores kind;
  kind.heads = map.integer("heads", count_range);
  kind.kv_heads = map.integer_or("kv_heads", kind.heads, count_range);
  kind.causal = map.flag_or("causal", kind.causal);
  return kind;
}

LayerKind read_attention_context(const ConfigMap& map) {
  return AttentionContext{map.integer("kv_heads", count_range)};
}

LayerKind read_expert_linear(const ConfigMap& map) {
  return ExpertLinear{map.integer("outputs", count_range), map.integer("active", count_range)};
}

LayerKind read_transposed_convolution(const ConfigMap& map) {
  TransposedConvolution kind;
  kind.out_channels = map.integer("out_channels", count_range);
  kind.kernel = map.integer("kernel", count_range);
  kind.stride = map.integer_or("stride", kind.stride, count_range);
  kind.bias = map.flag_or("bias", kind.bias);
  return kind;
}

LayerKind read_sigmoid(const ConfigMap& /*map*/) {
  return Activation{ActivationFunction::sigmoid};
}

LayerKind read_gelu(const ConfigMap& /*map*/) {
  return Activation{ActivationFunction::gelu};
}

LayerKind read_silu(const ConfigMap& /*map*/) {
  return Activation{ActivationFunction::silu};
}

LayerKind read_dropout(const ConfigMap& map) {
  return Dropout{map.number("probability", {0, 1})};
}

LayerKind read_loss(const ConfigMap& map) {
  SoftmaxCrossEntropy kind;
  kind.loss_weight = map.number_or("loss_weight", kind.loss_weight, any_positive);
  return kind;
}

template <class Kind>
LayerKind read_plain(const ConfigMap& /*map*/) {
  return Kind{};
}

/// Name of a kind, the keys of its fields and the function that reads them.
struct KindReader {
  std::string_view word;
  LayerKind (*read)(const ConfigMap&);
  std::vector<std::string_view> keys = {};
};

const std::vector<KindReader>& kind_readers() {
  static const std::vector<KindReader> readers{
      {"convolution",
       read_convolution,
       {"out_channels", "kernel", "stride", "pad", "dilation", "groups", "bias"}},
      {"max_pooling", read_max_pooling, {"kernel", "stride", "pad", "ceil_mode"}},
      {"average_pooling", read_average_pooling, {"kernel", "stride", "pad", "ceil_mode"}},
      {"global_average_pooling", read_global_average_pooling},
      {"relu", read_plain<Relu>},
      {"lrn", read_lrn, {"size", "alpha", "beta", "k"}},
      {"batch_norm", read_batch_norm, {"epsilon"}},
      {"fully_connected", read_fully_connected, {"outputs", "bias"}},
      {"dropout", read_dropout, {"probability"}},
      {"concat", read_plain<Concat>},
      {"sum", read_plain<Sum>},
      {"sigmoid", read_sigmoid},
      {"gelu", read_gelu},
      {"silu", read_silu},
      {"scale", read_plain<Scale>},
      {"silu_multiply", read_plain<SiluMultiply>},
      {"transposed_convolution",
       read_transposed_convolution,
       {"out_channels", "kernel", "stride", "bias"}},
      {"layer_norm", read_plain<LayerNorm>},
      {"rms_norm", read_plain<RmsNorm>},
      {"linear", read_linear, {"outputs", "bias", "weights_of"}},
      {"embedding", read_embedding, {"rows", "outputs", "weights_of"}},
      {"position_embedding", read_position_embedding, {"rows", "outputs"}},
      {"relative_positions", read_relative_positions, {"buckets", "heads"}},
      {"attention_memory", read_attention_memory, {"tokens"}},
      {"relative_scores", read_relative_scores, {"heads"}},
      {"to_tokens", read_to_tokens, {"class_token", "positions"}},
      {"first_token", read_plain<FirstToken>},
      {"rope", read_plain<Rope>},
      {"attention_scores", read_attention_scores, {"heads", "kv_heads", "causal"}},
      {"attention_softmax", read_plain<AttentionSoftmax>},
      {"attention_context", read_attention_context, {"kv_heads"}},
      {"route", read_plain<Route>},
      {"expert_linear", read_expert_linear, {"outputs", "active"}},
      {"softmax_cross_entropy", read_loss, {"loss_weight"}},
      {"token_cross_entropy", read_plain<TokenCrossEntropy>},
  };
  return readers;
}

const KindReader& find_reader(const ConfigMap& map) {
  const std::string word = map.text("kind");
  std::vector<std::string> words;
  for (const KindReader& reader : kind_readers()) {
    if (reader.word == word) return reader;
    words.emplace_back(reader.word);
  }
  map.refuse("kind", "no kind of layer", suggestion(word, words));
}

/// Keys that every layer may have.
const std::vector<std::string_view>& layer_keys() {
  static const std::vector<std::string_view> keys{"name", "kind", "from"};
  return keys;
}

/// Refuses unknown keys of a layer without a kind, which may have the keys of any kind.
void refuse_keys_of_no_kind(const ConfigMap& map) {
  std::vector<std::string_view> known = layer_keys();
  for (const KindReader& reader : kind_readers()) {
    for (const std::string_view key : reader.keys) {
      if (std::find(known.begin(), known.end(), key) == known.end()) known.push_back(key);
    }
  }
  map.allow_only(known);
}

}  // namespace

LayerKind read_kind(const ConfigMap& map) {
  if (!map.has("kind")) refuse_keys_of_no_kind(map);
  const KindReader& reader = find_reader(map);
  std::vector<std::string_view> known = layer_keys();
  known.insert(known.end(), reader.keys.begin(), reader.keys.end());
  map.allow_only(known);
  return reader.read(map);
}

}  // namespace dlscale
