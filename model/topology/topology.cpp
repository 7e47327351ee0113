#include "model/topology/topology.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/error.hpp"
#include "core/base/remedy.hpp"
#include "core/text/quantity_text.hpp"
#include "model/topology/node_paths.hpp"

namespace dlscale::model {
namespace {

[[noreturn]] void refuse_unknown(const Cluster& cluster, const LinkSpec& link) {
  const bool between_nodes = &link == &cluster.inter_node;
  throw RemediableError(
      fmt::format(
          "cluster {} does not say how fast messages {} are, so nothing can be predicted for "
          "several workers. Measure them and calibrate, {}state bandwidth and latency "
          "between nodes, or ask for one rank.",
          cluster.name, between_nodes ? "between nodes" : "between workers of one node",
          between_nodes ? "" : "calibrate nodes of one worker and "),
      {.subject = "comm", .ranks = 2});
}

/// A step of a ring over k devices without other traffic.
struct WithinNode {
  BytesPerSecond bandwidth;
  Seconds latency;
};

WithinNode within_node(const Cluster& cluster, int k) {
  const LinkSpec& stated = cluster.intra_node;
  const NodeRing all = ring_over(*cluster.node, cluster.devices_per_node);
  const NodeRing own = ring_over(*cluster.node, k);
  if (own.over_tree == all.over_tree) {
    return {own.bandwidth / all.bandwidth * stated.bandwidth, stated.latency};
  }
  return {own.bandwidth, own.over_tree ? cluster.node->tree.latency : stated.latency};
}

bool describes_ring(const Cluster& cluster, const Placement& placement) {
  return cluster.node && cluster.devices_per_node > 1 && placement.ranks_on_node() > 1;
}

/// Number of ranks with a link of their own, at most the number of devices.
int devices_of(const Cluster& cluster, int ranks) {
  return std::min(ranks, cluster.devices_per_node);
}

}  // namespace

collective::Link nominal_link(const Cluster& cluster, const LinkSpec& link, double sharers) {
  if (link.bandwidth.si() <= 0) refuse_unknown(cluster, link);
  return {link.latency, sharers / link.bandwidth, SecondsPerByte()};
}

collective::Link link_within(const Cluster& cluster, const Placement& placement) {
  collective::Link link = nominal_link(cluster, cluster.intra_node, 1);
  if (!describes_ring(cluster, placement)) return link;
  const int full = devices_of(cluster, placement.ranks_on_node());
  const int on_last = devices_of(cluster, placement.ranks_on_last());
  const int last = on_last > 1 ? on_last : full;  // a single one has no link to cross
  const WithinNode a = within_node(cluster, full);
  const WithinNode b = within_node(cluster, last);
  link.alpha = std::max(a.latency, b.latency);
  link.beta = 1 / std::min(a.bandwidth, b.bandwidth);
  return link;
}

collective::Link link_between_nodes(const Cluster& cluster, const Placement& placement,
                                    double sharers) {
  collective::Link link = nominal_link(cluster, cluster.inter_node, sharers);
  if (!cluster.network) return link;
  const NetworkLinks& network = *cluster.network;
  const BytesPerSecond payload = network.efficiency * cluster.inter_node.bandwidth;
  BytesPerSecond rate = taper(network, placement.nodes()) * payload;
  if (cluster.node) {
    for (const int ranks : {placement.ranks_on_node(), placement.ranks_on_last()}) {
      rate = std::min(rate, out_of_node(*cluster.node, devices_of(cluster, ranks), network.adapters,
                                        payload / network.adapters));
    }
  }
  link.beta = sharers / rate;
  return link;
}

std::string described_links(const Cluster& cluster, const Placement& placement) {
  std::string text;
  if (describes_ring(cluster, placement)) {
    const int k = devices_of(cluster, placement.ranks_on_node());
    text = fmt::format("{} of {} devices: {}, {}", k, cluster.devices_per_node,
                       ring_over(*cluster.node, k).text(),
                       to_text(1 / link_within(cluster, placement).beta));
  }
  if (cluster.network && placement.nodes() > 1) {
    text += fmt::format("{}{} nodes: {} out of each", text.empty() ? "" : "; ", placement.nodes(),
                        to_text(1 / link_between_nodes(cluster, placement, 1).beta));
  }
  return text;
}

collective::Link ring_link(const Cluster& cluster, const Placement& placement) {
  if (placement.nodes() == 1) return link_within(cluster, placement);
  const auto outside = link_between_nodes(cluster, placement, 1);
  if (placement.ranks_per_node == 1) return outside;
  const auto inside = link_within(cluster, placement);
  return {std::max(inside.alpha, outside.alpha), std::max(inside.beta, outside.beta),
          SecondsPerByte()};
}

Seconds hierarchical_all_reduce(const Cluster& cluster, const Placement& placement, Bytes m) {
  const int g = placement.ranks_on_node();
  const int n = placement.nodes();
  const auto round = [](const collective::Link& link, Bytes part) {
    return link.alpha + part * link.beta;
  };
  Seconds total;
  if (g > 1) total += 2.0 * (g - 1) * round(link_within(cluster, placement), m / g);
  if (n == 1) return total;
  return total +
         2.0 * (n - 1) * round(link_between_nodes(cluster, placement, g), m / (1.0 * n * g));
}

}  // namespace dlscale::model
