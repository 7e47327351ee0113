#include "model/sgd_iter/kernels/unfused_network.hpp"

#include <string>
#include <utility>

#include "core/base/error.hpp"

namespace dlscale::model {
namespace {

Network unfuse(const Network& fused) {
  std::vector<std::string> outputs;  // by layer: name of the layer that now has its output
  std::vector<Network::Node> nodes;
  outputs.reserve(fused.layers().size());
  for (const Layer& layer : fused.layers()) {
    outputs.push_back(layer.relu ? layer.name + " (its ReLU)" : layer.name);
    if (std::holds_alternative<Input>(layer.kind)) continue;
    Network::Node node{layer.name, layer.kind, {}};
    for (const LayerId input : layer.inputs) node.inputs.push_back(outputs[input.index()]);
    nodes.push_back(std::move(node));
    if (layer.relu) nodes.push_back({outputs.back(), Relu{}, {layer.name}});
  }
  return {fused.name(), fused.input(), nodes};
}

/// The pass in which the gradient of a layer's output passes its ReLU.
Pass first_backward_pass(const Layer& layer) {
  const bool filters = std::holds_alternative<Convolution>(layer.kind);
  return filters ? Pass::backward_filter : Pass::backward_data;
}

}  // namespace

UnfusedNetwork::UnfusedNetwork(const Network& fused) : network_(unfuse(fused)) {
  std::size_t next = 0;
  for (const Layer& layer : fused.layers()) {
    layers_.emplace_back(next);
    next += layer.relu ? 2 : 1;
  }
}

std::vector<Step> UnfusedNetwork::steps(Step fused) const {
  const LayerId layer = layers_[fused.layer.index()];
  const LayerId relu(layer.index() + 1);
  EXPECT(std::holds_alternative<Relu>(network_.layer(relu).kind));
  if (fused.pass == Pass::accumulate) return {{relu, Pass::accumulate}};
  const Layer& alone = network_.layer(layer);
  if (fused.pass != first_backward_pass(alone)) return {{layer, fused.pass}};
  const Step lets_through{relu, Pass::backward_data};
  if (std::holds_alternative<Sum>(alone.kind)) return {lets_through};
  return {lets_through, {layer, fused.pass}};
}

}  // namespace dlscale::model
