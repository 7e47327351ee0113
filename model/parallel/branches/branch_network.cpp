#include "model/parallel/branches/branch_network.hpp"

#include <fmt/format.h>

#include <variant>

namespace dlscale::model {
namespace {

/// A kind with its part of heads, features or groups; others stay.
struct Slice {
  int ways;

  template <class Kind>
  LayerKind operator()(const Kind& kind) const {
    return kind;
  }
  LayerKind operator()(Linear kind) const {
    kind.outputs /= ways;
    return kind;
  }
  LayerKind operator()(Convolution kind) const {
    kind.out_channels /= ways;
    if (kind.groups > 1) kind.groups /= ways;
    return kind;
  }
  LayerKind operator()(AttentionScores kind) const {
    kind.heads /= ways;
    kind.kv_heads /= ways;
    return kind;
  }
  LayerKind operator()(AttentionContext kind) const {
    kind.kv_heads /= ways;
    return kind;
  }
  LayerKind operator()(RelativeScores kind) const {
    kind.heads /= ways;
    return kind;
  }
};

}  // namespace

Network branch_network(const Network& network, const std::vector<BranchRegion>& regions, int ways) {
  std::vector<bool> sliced(network.layers().size());
  bool has_heads = false;
  for (const BranchRegion& region : regions) {
    if (region.kind == BranchRegion::Kind::paths) continue;
    has_heads |= region.kind == BranchRegion::Kind::heads;
    for (const LayerId id : region.layers) sliced[id.index()] = id != region.exit;
  }
  std::vector<Network::Node> nodes;
  for (const Layer& layer : network.layers()) {
    if (layer.id.index() == 0) continue;
    Network::Node node{layer.name, layer.kind, {}, layer.relu};
    for (const LayerId input : layer.inputs) node.inputs.push_back(network.layer(input).name);
    if (sliced[layer.id.index()]) node.kind = std::visit(Slice{ways}, layer.kind);
    if (auto* positions = std::get_if<RelativePositions>(&node.kind); positions && has_heads) {
      positions->heads /= ways;
    }
    nodes.push_back(std::move(node));
  }
  return {fmt::format("{}_branch_of_{}", network.name(), ways), network.input(), nodes};
}

}  // namespace dlscale::model
