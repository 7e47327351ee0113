#include "core/network/relu_fusion.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/base/error.hpp"

namespace dlscale {
namespace {

/// The layer into which `layer` is fused; nullptr if it is not a ReLU or must stay.
const Layer* absorber(const Network& network, const Layer& layer) {
  if (!std::holds_alternative<Relu>(layer.kind)) return nullptr;
  const Layer& producer = network.layer(layer.inputs.front());
  const bool alone = network.consumers(producer.id).size() == 1;
  return alone && may_have_relu(producer.kind) && !producer.relu ? &producer : nullptr;
}

bool absorbs(const Network& network, const Layer& layer) {
  return std::ranges::any_of(network.consumers(layer.id), [&](LayerId consumer) {
    return absorber(network, network.layer(consumer)) == &layer;
  });
}

}  // namespace

Network fuse_relu(const Network& network) {
  std::vector<std::string> outputs;  // by layer: name of the layer that now produces its output
  std::vector<Network::Node> nodes;
  outputs.reserve(network.layers().size());
  nodes.reserve(network.layers().size());
  for (const Layer& layer : network.layers()) {
    const Layer* producer = absorber(network, layer);
    outputs.push_back(producer == nullptr ? layer.name : producer->name);
    if (producer != nullptr || std::holds_alternative<Input>(layer.kind)) continue;
    Network::Node node{layer.name, layer.kind, {}, layer.relu || absorbs(network, layer)};
    for (const LayerId input : layer.inputs) node.inputs.push_back(outputs[input.index()]);
    nodes.push_back(std::move(node));
  }
  return {network.name(), network.input(), nodes};
}

Network as_run(const Network& network, const Run& run) {
  return run.fuse_relu ? fuse_relu(network) : network;
}

std::string_view fusion_name(const Run& run) {
  return run.fuse_relu ? "relu" : "none";
}

bool parse_fusion(std::string_view name) {
  if (name == "relu") return true;
  if (name == "none") return false;
  throw ConfigError(fmt::format(
      "the fusion is \"{}\" (neither relu nor none). Write relu to make each ReLU a part of "
      "the convolution, batch norm or sum before it.",
      name));
}

}  // namespace dlscale
