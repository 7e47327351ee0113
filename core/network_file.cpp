#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "core/config_file.hpp"
#include "core/config_path.hpp"
#include "core/error.hpp"
#include "core/network.hpp"
#include "core/suggest.hpp"

namespace dlscale {
namespace {

constexpr IntegerRange count_range{1, 1 << 20};
constexpr IntegerRange pad_range{0, 1 << 20};
constexpr NumberRange any_positive{0, 1e9};

struct Window {
  int height;
  int width;
};

/// kernel: 3, or kernel: [height, width].
Window read_kernel(const ConfigMap& map) {
  const std::vector<int> sizes = map.integers("kernel", count_range);
  if (sizes.empty() || sizes.size() > 2) {
    map.refuse("kernel", "neither one number nor two", "Write a number, or [height, width].");
  }
  return {sizes.front(), sizes.back()};
}

LayerKind read_convolution(const ConfigMap& map) {
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

/// A word for a kind and what reads its fields.
struct KindReader {
  std::string_view word;
  LayerKind (*read)(const ConfigMap&);
};

constexpr std::array kind_readers{
    KindReader{"convolution", read_convolution},
    KindReader{"max_pooling", read_max_pooling},
    KindReader{"average_pooling", read_average_pooling},
    KindReader{"global_average_pooling", read_global_average_pooling},
    KindReader{"relu", read_plain<Relu>},
    KindReader{"lrn", read_lrn},
    KindReader{"batch_norm", read_batch_norm},
    KindReader{"fully_connected", read_fully_connected},
    KindReader{"dropout", read_dropout},
    KindReader{"concat", read_plain<Concat>},
    KindReader{"sum", read_plain<Sum>},
    KindReader{"softmax_cross_entropy", read_loss},
};

LayerKind read_kind(const ConfigMap& map) {
  const std::string word = map.text("kind");
  std::vector<std::string> words;
  for (const KindReader& reader : kind_readers) {
    if (reader.word == word) return reader.read(map);
    words.emplace_back(reader.word);
  }
  map.refuse("kind", "no kind of layer", suggestion(word, words));
}

Network::Node read_layer(ConfigMap& map, const std::string& previous) {
  Network::Node node;
  node.name = map.text("name");
  map.set_title(fmt::format("layer \"{}\"", node.name));
  node.kind = read_kind(map);
  node.inputs = map.has("from") ? map.texts("from") : std::vector<std::string>{previous};
  map.refuse_unknown_keys();
  return node;
}

ImageShape read_input(const ConfigMap& map) {
  const ImageShape shape{map.integer("channels", count_range), map.integer("height", count_range),
                         map.integer("width", count_range)};
  map.refuse_unknown_keys();
  return shape;
}

}  // namespace

Network load_network(std::string_view name) {
  const std::filesystem::path file = find_config("networks", name);
  const ConfigMap map = ConfigMap::load(file);
  const std::string network = map.text("network");
  (void)map.text_or("doc", "");
  (void)map.text_or("source", "");
  const ImageShape input = read_input(map.map("input"));
  std::vector<Network::Node> nodes;
  for (ConfigMap& layer : map.maps("layers")) {
    nodes.push_back(read_layer(layer, nodes.empty() ? "input" : nodes.back().name));
  }
  map.refuse_unknown_keys();
  try {
    return Network(network, input, nodes);
  } catch (const ConfigError& error) {
    throw ConfigError(fmt::format("{}: {}", file.string(), error.what()));
  }
}

}  // namespace dlscale
