#pragma once
#include "core/cluster.hpp"
#include "core/collective/link.hpp"
#include "core/ids.hpp"

namespace dlscale::model {

/// Where ranks are: node 0 gets the first ranks_per_node of them, and so on.
struct Placement {
  int ranks = 1;
  int ranks_per_node = 1;
  [[nodiscard]] int nodes() const { return (ranks + ranks_per_node - 1) / ranks_per_node; }
  /// On the fullest node.
  [[nodiscard]] int ranks_on_node() const {
    return ranks < ranks_per_node ? ranks : ranks_per_node;
  }
  [[nodiscard]] int node(Rank rank) const { return rank / ranks_per_node; }
};

/// The nominal link that a transfer between two different ranks crosses.
const LinkSpec& link_between(const Cluster& cluster, const Placement& placement, Rank a, Rank b);

/// α and β of a transfer over `link` of which `sharers` use the same link at once. γ is 0. Throws
/// ConfigError if the cluster gives the link no bandwidth.
collective::Link nominal_link(const Cluster& cluster, const LinkSpec& link, double sharers);

/// What a step of a flat ring over all ranks costs: the larger latency and the smaller bandwidth of
/// the links it crosses, B_min of (1.14). A ring enters and leaves each node once, so nobody
/// shares.
collective::Link ring_link(const Cluster& cluster, const Placement& placement);

/// All-reduce of m bytes over N nodes of g ranks from nominal links: reduce-scatter within the
/// nodes, all-reduce of each g-th across them, where the ranks of a node share its link, all-gather
/// within:
///   2 (g - 1) (α_i + m/g β_i) + 2 (N - 1) (α_e + m/(N g) g β_e)   (3.13)
/// A last node that is filled in part counts as full. Reduction itself is taken to cost nothing.
Seconds hierarchical_all_reduce(const Cluster& cluster, const Placement& placement, Bytes m);

}  // namespace dlscale::model
