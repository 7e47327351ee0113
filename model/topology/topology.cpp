#include "model/topology/topology.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.hpp"

namespace dlscale::model {

const LinkSpec& link_between(const Cluster& cluster, const Placement& placement, Rank a, Rank b) {
  EXPECT(a != b && std::min(a, b) >= 0 && std::max(a, b) < placement.ranks);
  return placement.node(a) == placement.node(b) ? cluster.intra_node : cluster.inter_node;
}

collective::Link nominal_link(const Cluster& cluster, const LinkSpec& link, double sharers) {
  if (link.bandwidth.si() <= 0) {
    throw ConfigError(
        fmt::format("cluster {} gives link \"{}\" no bandwidth, so communication over it cannot be "
                    "predicted. Add it, or measure it: mpirun -n 2 dlscale bench comm.",
                    cluster.name, link.name));
  }
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

}  // namespace dlscale::model
