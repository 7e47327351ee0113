#include "core/network/network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>

#include "core/base/error.hpp"
#include "core/base/fnv1a.hpp"
#include "core/network/layer_shape.hpp"
#include "core/network/step.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "core/text/suggest.hpp"

namespace dlscale {
namespace {

bool is_loss_layer(const Layer& layer) {
  return is_loss(layer.kind);
}

template <class Kind>
bool any_is(const std::vector<Layer>& layers) {
  return std::ranges::any_of(
      layers, [](const Layer& layer) { return std::holds_alternative<Kind>(layer.kind); });
}

/// Adds layers one by one and finds the producers of each by name.
class Builder {
 public:
  Builder(std::string_view network, ImageShape input, std::size_t layers) : network_(network) {
    check_input_shape(network, input);
    layers_.reserve(layers + 1);
    ids_.reserve(layers + 1);
    add(Layer{LayerId(0), "input", Input{}, {}, {}, input});
  }

  void add_node(const Network::Node& node) {
    Layer layer{LayerId(layers_.size()), node.name, node.kind, {}, {}, {}};
    if (node.name.empty()) refuse(layer, "has no name", "Give every layer a name of its own.");
    if (ids_.contains(node.name)) refuse(layer, "occurs twice", "Give each layer its own name.");
    if (node.relu) take_in_relu(layer);
    for (const std::string& producer : node.inputs) connect(layer, producer);
    infer_shape(network_, layer);
    if (!weights_of(layer.kind).empty()) check_owner(layer);
    add(std::move(layer));
  }

  std::vector<Layer> take() { return std::move(layers_); }

 private:
  void add(Layer layer) {
    const LayerId id = layer.id;
    layers_.push_back(std::move(layer));  // never moves others: there is room
    ids_.emplace(layers_.back().name, id);
  }

  void take_in_relu(Layer& layer) const {
    if (!may_have_relu(layer.kind)) {
      refuse(layer, fmt::format("is a {} with a ReLU of its own", kind_name(layer.kind)),
             "Only convolution, batch_norm and sum take one in: make the ReLU a layer.");
    }
    layer.relu = true;
  }

  void connect(Layer& layer, const std::string& producer) {
    const auto found = ids_.find(producer);
    if (found == ids_.end()) {
      refuse(layer,
             fmt::format("reads \"{}\", which is not a layer before it",
                         escape_for_terminal(producer)),
             suggestion(producer, names()));
    }
    if (is_loss(layers_[found->second.index()].kind)) {
      refuse(layer, fmt::format("reads \"{}\", which is a loss and has no output", producer),
             "Say with \"from\" which layer it reads.");
    }
    if (std::find(layer.inputs.begin(), layer.inputs.end(), found->second) != layer.inputs.end()) {
      refuse(layer, fmt::format("reads \"{}\" twice", producer), "Name each input once.");
    }
    layer.inputs.push_back(found->second);
    layer.input_shapes.push_back(layers_[found->second.index()].output);
  }

  /// Checks the layer whose weights `layer` uses.
  void check_owner(const Layer& layer) const {
    const std::string name(weights_of(layer.kind));
    const auto found = ids_.find(name);
    if (found == ids_.end()) {
      refuse(layer,
             fmt::format("has weights_of \"{}\", which is not a layer before it",
                         escape_for_terminal(name)),
             suggestion(name, names()));
    }
    const Layer& owner = layers_[found->second.index()];
    if (owner.weight_count() == layer.read_weight_count()) return;
    refuse(layer,
           fmt::format("uses {} weights, but \"{}\" has {} of its own", layer.read_weight_count(),
                       name, owner.weight_count()),
           "Name a layer with a table of the same size.");
  }

  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const Layer& layer : layers_) names.push_back(layer.name);
    return names;
  }

  [[noreturn]] void refuse(const Layer& layer, std::string_view problem,
                           std::string_view advice) const {
    refuse_layer(network_, layer, problem, advice);
  }

  std::string_view network_;
  std::vector<Layer> layers_;
  std::unordered_map<std::string_view, LayerId> ids_;  // names of layers_
};

std::vector<std::vector<LayerId>> find_consumers(const std::vector<Layer>& layers) {
  std::vector<std::vector<LayerId>> consumers(layers.size());
  for (const Layer& layer : layers) {
    for (const LayerId producer : layer.inputs) consumers[producer.index()].push_back(layer.id);
  }
  return consumers;
}

void check_all_used(std::string_view network, const std::vector<Layer>& layers,
                    const std::vector<std::vector<LayerId>>& consumers) {
  for (const Layer& layer : layers) {
    if (is_loss(layer.kind) || !consumers[layer.id.index()].empty()) continue;
    refuse_layer(network, layer, "is read by no layer, so its work would be lost",
                 "Remove it, name it in a \"from\", or end it in a softmax_cross_entropy.");
  }
}

/// Keeps sums over layers far below the limit of 64 bits.
void check_total(std::string_view network, const std::vector<Layer>& layers) {
  constexpr double most = 1e18;
  double size = 0;
  for (const Layer& layer : layers) {
    size += static_cast<double>(layer.forward_macs()) +
            static_cast<double>(layer.parameter_count()) +
            static_cast<double>(layer.output.elements());
  }
  if (size <= most) return;
  throw ConfigError(
      fmt::format("{}: all {} layers together are absurdly large, with {:.2g} multiply-adds, "
                  "parameters and outputs. Repeat less, or check their numbers.",
                  network, layers.size(), size));
}

/// All losses of one kind read the same labels.
void check_losses(std::string_view network, const std::vector<Layer>& layers) {
  const Layer* first = nullptr;
  for (const Layer& layer : layers) {
    if (!is_loss(layer.kind)) continue;
    if (first == nullptr) first = &layer;
    const int classes = layer.input_shapes.front().channels;
    const int expected = first->input_shapes.front().channels;
    if (classes == expected || layer.kind.index() != first->kind.index()) continue;
    refuse_layer(
        network, layer,
        fmt::format("tells {} classes apart and \"{}\" {}", classes, first->name, expected),
        "All losses need the same number of classes.");
  }
  if (first == nullptr) {
    throw ConfigError(
        fmt::format("{}: the network has no loss, so it cannot be trained. End with a "
                    "softmax_cross_entropy layer.",
                    network));
  }
}

/// Fields of a layer that affect its result but not its time (kernel_key() has the others).
struct OtherFields {
  template <class Kind>
  std::string operator()(const Kind& /*kind*/) const {
    return "";
  }
  std::string operator()(const Lrn& kind) const {
    return fmt::format(" alpha{} k{}", kind.alpha, kind.k);
  }
  std::string operator()(const BatchNorm& kind) const {
    return fmt::format(" epsilon{}", kind.epsilon);
  }
  std::string operator()(const SoftmaxCrossEntropy& kind) const {
    return fmt::format(" loss_weight{}", kind.loss_weight);
  }
};

std::size_t index_of(const Network& network, std::string_view name) {
  const auto& layers = network.layers();
  const auto found = std::ranges::find(layers, name, &Layer::name);
  EXPECT(found != layers.end());
  return static_cast<std::size_t>(found - layers.begin());
}

std::string ending(std::string_view layer) {
  std::string end(1, '_');  // not "_" + …, for which GCC 12 gives a false warning when optimising
  end += layer;
  return end;
}

}  // namespace

Network::Network(std::string name, ImageShape input, const std::vector<Node>& nodes)
    : name_(std::move(name)) {
  Builder builder(name_, input, nodes.size());
  for (const Node& node : nodes) builder.add_node(node);
  layers_ = builder.take();
  consumers_ = find_consumers(layers_);
  check_all_used(name_, layers_, consumers_);
  check_losses(name_, layers_);
  check_total(name_, layers_);
  is_over_sequences_ = any_is<Embedding>(layers_);
  has_attention_ = any_is<AttentionScores>(layers_);
}

std::int64_t Network::parameter_count() const {
  return std::transform_reduce(layers_.begin(), layers_.end(), std::int64_t{0}, std::plus<>{},
                               [](const Layer& layer) { return layer.parameter_count(); });
}

std::int64_t Network::forward_macs() const {
  return std::transform_reduce(layers_.begin(), layers_.end(), std::int64_t{0}, std::plus<>{},
                               [](const Layer& layer) { return layer.forward_macs(); });
}

int Network::classes() const {
  const auto last = std::find_if(layers_.rbegin(), layers_.rend(), is_loss_layer);
  EXPECT(last != layers_.rend());
  return last->input_shapes.front().channels;
}

std::string_view Network::samples() const {
  const bool is_frames = input().width == 1 && input().height > 1;  // of sound
  return is_over_sequences() || is_frames ? "sequences" : "images";
}

std::string fingerprint(const Network& network) {
  std::string text;
  for (const Layer& layer : network.layers()) {
    text += kernel_key(network, layer.id) + std::visit(OtherFields{}, layer.kind) + " from";
    for (const LayerId input : layer.inputs) text += fmt::format(" {}", input.index());
    if (const std::string_view owner = weights_of(layer.kind); !owner.empty()) {
      text += fmt::format(" weights_of {}", index_of(network, owner));
    }
    text += '\n';
  }
  return fmt::format("{:016x}", fnv1a(text));
}

std::string listed_network(std::string_view list, std::string_view layer) {
  return std::string(list) + ending(layer);
}

std::string set_of(std::string network, std::string_view layer) {
  const std::string end = ending(layer);
  if (network.ends_with(end)) network.resize(network.size() - end.size());
  return network;
}

}  // namespace dlscale
