#pragma once
#include "core/cluster/cluster.hpp"
#include "core/run/run.hpp"
#include "model/machine/machine.hpp"
#include "model/sgd_iter/evidence/notes.hpp"
#include "model/sgd_iter/messages/message_time.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {

/// An all-reduce by a ring of nodes with a GPU each, at the nominal rate of the link:
///   t_c = 2 (p-1) α + 2 (p-1)/p M / B
/// Start-ups of all 2 (p-1) steps are `startup` together.
inline Seconds nominal_ring(int nodes, Bytes message, BytesPerSecond link, Seconds startup = {}) {
  return startup + 2.0 * (nodes - 1) / nodes * message / link;
}

/// All-reduce of m bytes over N nodes of g ranks: reduce-scatter within the nodes, all-reduce of
/// each g-th part across them, where the ranks of a node share its link, and all-gather within the
/// nodes:
///   2 (g - 1) (α_i + m/g β_i) + 2 (N - 1) (α_e + m/(N g) g β_e)
inline Seconds hierarchical_all_reduce(const Cluster& cluster, const Placement& placement,
                                       Bytes m) {
  const int g = placement.ranks_on_node();
  const int n = placement.nodes();
  const collective::Link inside = link_within(cluster, placement);
  const Seconds within = 2.0 * (g - 1) * (inside.alpha + m / g * inside.beta);
  if (n == 1) return within;
  const collective::Link outside = link_between_nodes(cluster, placement, g);
  return within + 2.0 * (n - 1) * (outside.alpha + m / (1.0 * n * g) * outside.beta);
}

}  // namespace dlscale::model
