#pragma once
#include <string>

#include "core/base/ids.hpp"
#include "core/cluster/cluster.hpp"
#include "core/collective/link.hpp"

namespace dlscale::model {

/// Where ranks are: node 0 gets the first ranks_per_node of them, and so on.
struct Placement {
  int ranks = 1;
  int ranks_per_node = 1;
  [[nodiscard]] int nodes() const { return (ranks + ranks_per_node - 1) / ranks_per_node; }
  /// On the last node, which may be filled in part.
  [[nodiscard]] int ranks_on_last() const { return ranks - (nodes() - 1) * ranks_per_node; }
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

/// The link within nodes on which all ranks of a node send at once, each to the next:
/// nominal_link() of Cluster::intra_node, which says what all devices of a node get. Where the
/// cluster describes its node, ranks are on the first devices, and get of that as ring_over() says,
///   β = ring_over(all) / ring_over(k) / bandwidth,
/// or where theirs is a ring through the host and that of all devices is not, the other way round,
/// or over switches, what ring_over(k) says by itself. The slower of a full node and the last one.
collective::Link link_within(const Cluster& cluster, const Placement& placement);

/// The link of a node to the others, which `sharers` ranks of it share: nominal_link() of
/// Cluster::inter_node. Where the cluster describes its network, with η the part that is payload:
///   β = sharers / min(taper(N) η bandwidth, out_of_node(k) of adapters of η bandwidth / adapters).
collective::Link link_between_nodes(const Cluster& cluster, const Placement& placement,
                                    double sharers);

/// What the two above were told by a description: "4 of 8 devices: 4 rings of NVLinks, 100 GB/s".
/// Empty where there is none for the links of the placement.
std::string described_links(const Cluster& cluster, const Placement& placement);

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
