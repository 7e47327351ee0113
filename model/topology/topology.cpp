#include "model/topology/topology.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.hpp"

namespace dlscale::model {
namespace {

[[noreturn]] void refuse_unknown(const Cluster& cluster, const LinkSpec& link) {
  const bool between_nodes = &link == &cluster.inter_node;
  throw ConfigError(fmt::format(
      "cluster {} does not say how fast messages {} are, so nothing can be predicted for several "
      "workers. Measure it (mpirun -n 2 dlscale bench comm) and calibrate, {}state the link "
      "between "
      "nodes (--inter-node-bandwidth 10Gb/s --inter-node-latency 50us), or ask for one worker: "
      "--ranks 1.",
      cluster.name, between_nodes ? "between nodes" : "between workers of one node",
      between_nodes ? "" : "calibrate nodes of one worker (--workers 1) and "));
}

}  // namespace

const LinkSpec& link_between(const Cluster& cluster, const Placement& placement, Rank a, Rank b) {
  EXPECT(a != b && std::min(a, b) >= 0 && std::max(a, b) < placement.ranks);
  return placement.node(a) == placement.node(b) ? cluster.intra_node : cluster.inter_node;
}

collective::Link nominal_link(const Cluster& cluster, const LinkSpec& link, double sharers) {
  if (link.bandwidth.si() <= 0) refuse_unknown(cluster, link);
  return {link.latency, sharers / link.bandwidth, SecondsPerByte()};
}

collective::Link ring_link(const Cluster& cluster, const Placement& placement) {
  if (placement.nodes() == 1) return nominal_link(cluster, cluster.intra_node, 1);
  const auto outside = nominal_link(cluster, cluster.inter_node, 1);
  if (placement.ranks_per_node == 1) return outside;
  const auto inside = nominal_link(cluster, cluster.intra_node, 1);
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
  if (g > 1) total += 2.0 * (g - 1) * round(nominal_link(cluster, cluster.intra_node, 1), m / g);
  if (n == 1) return total;
  return total +
         2.0 * (n - 1) * round(nominal_link(cluster, cluster.inter_node, g), m / (1.0 * n * g));
}

}  // namespace dlscale::model
