#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/config/config_file.hpp"
#include "core/config/config_path.hpp"
#include "core/network/network.hpp"
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

/// Reads kernel: 3, or kernel: [height, width].
Window read_kernel(const ConfigMap& map) {
  const std::vector<int> sizes = map.integers("kernel", count_range);
  if (sizes.empty() || sizes.size() > 2) {
    map.refuse("kernel", "neither one number nor two", "Write a number, or [height, width].");
  }
  return {sizes.front(), sizes.back()};
}

LayerKind read_convolution(const ConfigMap& map) {
  if (map.integer_or("dilation", 1, count_range) != 1) {
    map.refuse("dilation", "dilated filters are not supported, by no backend",
               "Leave the key out for a filter without holes, or leave the layer out.");
  }
  Convolution kind;
  kind.out_channels = map.integer("out_channels", count_range);
  const auto [height, width] = read_kernel(map);
  kind.kernel_h = height;
  kind.kernel_w = width;
  kind.stride = map.integer_or("stride", kind.stride, count_range);
  kind.pad = map.integer_or("pad", kind.pad, pad_range);
  kind.groups = map.integer_or("groups", kind.groups, count_range);
  kind.bias = map.flag_or("bias", kind.bias);
  return kind;
}

LayerKind read_pooling(const ConfigMap& map, PoolingKind pooling_kind) {
  Pooling kind;
  kind.kind = pooling_kind;
  const auto [height, width] = read_kernel(map);
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
      {"softmax_cross_entropy", read_loss, {"loss_weight"}},
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

LayerKind read_kind(const ConfigMap& map) {
  if (!map.has("kind")) refuse_keys_of_no_kind(map);
  const KindReader& reader = find_reader(map);
  std::vector<std::string_view> known = layer_keys();
  known.insert(known.end(), reader.keys.begin(), reader.keys.end());
  map.allow_only(known);
  return reader.read(map);
}

Network::Node read_layer(ConfigMap& map, const std::string& previous) {
  Network::Node node;
  if (map.has("name")) map.set_title(fmt::format("layer \"{}\"", map.name("name")));
  node.kind = read_kind(map);
  node.name = map.name("name");
  node.inputs = map.has("from") ? map.texts("from") : std::vector<std::string>{previous};
  return node;
}

ImageShape read_input(const ConfigMap& map) {
  map.allow_only({"channels", "height", "width"});
  const ImageShape shape{map.integer("channels", count_range), map.integer("height", count_range),
                         map.integer("width", count_range)};
  return shape;
}

}  // namespace

Network load_network(std::string_view name) {
  const std::filesystem::path file = find_config("networks", name);
  const ConfigMap map = ConfigMap::load(file);
  map.allow_only({"network", "doc", "source", "input", "layers"});
  const std::string network = map.name("network");
  (void)map.text_or("doc", "");
  (void)map.text_or("source", "");
  const ImageShape input = read_input(map.map("input"));
  std::vector<Network::Node> nodes;
  for (ConfigMap& layer : map.maps("layers")) {
    nodes.push_back(read_layer(layer, nodes.empty() ? "input" : nodes.back().name));
  }
  try {
    return Network(network, input, nodes);
  } catch (const ConfigError& error) {
    throw ConfigError(fmt::format("{}: {}", file.string(), error.what()));
  }
}

}  // namespace dlscale
