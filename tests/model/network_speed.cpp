// How fast networks are made, on one core: the part of dlscale_model_speed that
// --benchmark_filter='network' runs.
#include <benchmark/benchmark.h>

#include <string>
#include <variant>
#include <vector>

#include "core/network/network.hpp"

namespace dlscale {
namespace {

std::vector<Network::Node> nodes_of(const Network& network) {
  std::vector<Network::Node> nodes;
  for (const Layer& layer : network.layers()) {
    if (std::holds_alternative<Input>(layer.kind)) continue;
    Network::Node node{layer.name, layer.kind, {}, layer.relu};
    for (const LayerId input : layer.inputs) node.inputs.push_back(network.layer(input).name);
    nodes.push_back(node);
  }
  return nodes;
}

/// A network from its file.
void network_from_file(benchmark::State& state, const std::string& name) {
  for (auto _ : state) benchmark::DoNotOptimize(load_network(name));
}

/// A network from its layers: shapes are inferred and checked.
void network_from_layers(benchmark::State& state, const std::string& name) {
  const Network network = load_network(name);
  const std::vector<Network::Node> nodes = nodes_of(network);
  for (auto _ : state) {
    benchmark::DoNotOptimize(Network(network.name(), network.input(), nodes));
  }
}

BENCHMARK_CAPTURE(network_from_file, resnet50, std::string("resnet50"));
BENCHMARK_CAPTURE(network_from_file, bert_large, std::string("bert_large"));
BENCHMARK_CAPTURE(network_from_layers, resnet50, std::string("resnet50"));
BENCHMARK_CAPTURE(network_from_layers, bert_large, std::string("bert_large"));

}  // namespace
}  // namespace dlscale
