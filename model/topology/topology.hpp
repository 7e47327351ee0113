#pragma once
#include <string>

#include "core/base/ids.hpp"
#include "core/cluster/cluster.hpp"
#include "core/collective/schedule.hpp"

namespace dlscale::model {

/// Placement of ranks: node 0 holds the first ranks_per_node of them, and so on.
struct Placement {
  int ranks = 1;
  int ranks_per_node = 1;
  [[nodiscard]] int nodes() const { return (ranks + ranks_per_node - 1) / ranks_per_node; }
  /// Ranks on the last node, which may be partly filled.
  [[nodiscard]] int ranks_on_last() const { return ranks - (nodes() - 1) * ranks_per_node; }
  /// Ranks on the fullest node.
  [[nodiscard]] int ranks_on_node() const {
    return ranks < ranks_per_node ? ranks : ranks_per_node;
  }
  [[nodiscard]] int node(Rank rank) const { return rank / ranks_per_node; }
};

/// α and β of a transfer over `link` while `sharers` transfers use it. γ is 0. Throws ConfigError
/// if the cluster gives the link no bandwidth.
collective::Link nominal_link(const Cluster& cluster, const LinkSpec& link, double sharers);

/// The link within nodes while all ranks of a node send at once, each to the next. It is
/// nominal_link() of Cluster::intra_node, which states the rate of all devices of a node. Where the
/// cluster describes its node, ranks use the first k devices, and ring_over() scales it:
///   β = ring_over(all) / ring_over(k) / bandwidth.
/// Where only one of both rings crosses the tree to the host, ring_over(k) itself is the bandwidth.
/// Takes the slower of a full node and the last one.
collective::Link link_within(const Cluster& cluster, const Placement& placement);

/// The link of a node to the others, shared by `sharers` of its ranks: nominal_link() of
/// Cluster::inter_node. Where the cluster describes its network, with η the payload fraction:
///   β = sharers / min(taper(N) η bandwidth, out_of_node(k) of adapters of η bandwidth / adapters).
collective::Link link_between_nodes(const Cluster& cluster, const Placement& placement,
                                    double sharers);

/// The part of the cluster's description that the two above use: "4 of 8 devices: 4 rings of
/// NVLinks, 100 GB/s". Empty where the links of the placement have none.
std::string described_links(const Cluster& cluster, const Placement& placement);

/// Cost of a step of a flat ring over all ranks: the larger latency and the smaller bandwidth of
/// the links it crosses, B_min of (1.14). A ring enters and leaves each node once, so its links are
/// not shared.
collective::Link ring_link(const Cluster& cluster, const Placement& placement);

/// All-reduce of m bytes over N nodes of g ranks on nominal links: reduce-scatter within the nodes,
/// all-reduce of each g-th part across them, where the ranks of a node share its link, and
/// all-gather within the nodes:
///   2 (g - 1) (α_i + m/g β_i) + 2 (N - 1) (α_e + m/(N g) g β_e)   (3.13)
/// A partly filled last node counts as full. The cost of addition is 0.
Seconds hierarchical_all_reduce(const Cluster& cluster, const Placement& placement, Bytes m);

}  // namespace dlscale::model
