#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "core/cluster/cluster.hpp"
#include "core/cluster/node_links.hpp"
#include "core/collective/schedule.hpp"
#include "core/network/merge.hpp"

namespace dlscale::model {

/// Parallel rings over the first devices of a node.
struct NodeRing {
  BytesPerSecond bandwidth;  ///< from each device to the next, of all rings
  int rings = 1;             ///< parallel rings
  bool over_tree = false;    ///< some step crosses the tree to the host instead of an NVLink
  [[nodiscard]] std::string text() const;  ///< "6 rings of NVLinks"
};

/// Bandwidth of a ring over the first k ≥ 2 devices of a node:
///   switches:                     links of a device · b
///   a mesh with rings among them: R(k) · b, R the most that share no link (nvlink_rings.hpp)
///   else, and without NVLinks:    the least of the links of the tree that lie between two of them
/// with b of one NVLink. A ring in tree order crosses each link at most once each way, and every
/// ring crosses the links between its devices. A ring that must cross the tree anywhere counts as
/// crossing it throughout, because its NVLink steps are not slower. Nominal, [D]; on DGX-1 it gives
/// NCCL's 4 rings of P100 and 6 of V100. Wrong where a library routes rings through NVLinks of a
/// third device (NVB of NCCL since 2.8). Wrong where sockets forward less between devices than
/// their link carries.
NodeRing ring_over(const NodeLinks& node, int k);

/// Bandwidth from one device to another while all others are idle: all NVLinks between them, or
/// those of a device to switches. Without NVLinks, the slowest link on the path through the tree.
BytesPerSecond between(const NodeLinks& node, int a, int b);

/// Bandwidth of the first k ≥ 1 devices out of their node, or into it, through all adapters of that
/// bandwidth each: the maximum flow of the tree from devices to adapters. It assumes that adapters
/// read the memory of devices (GPUDirect RDMA); through host memory, bytes cross the tree twice. If
/// the place of adapters is unknown, the result is the bandwidth of all adapters.
BytesPerSecond out_of_node(const NodeLinks& node, int k, int adapters, BytesPerSecond adapter);

/// The part of their full rate that N nodes of a job get while all send at once, if nodes are
/// chosen without regard to switches. (N - r) / (N - 1) of the traffic leaves groups of r, over
/// links that carry the share s of what a group sends:
///   1 for N ≤ r, else min(1, s (N - 1) / (N - r)).   [D]
/// Ranks numbered along the switches get more: their ring leaves each group once.
double taper(const NetworkLinks& network, int nodes);

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
/// the links it crosses. A ring enters and leaves each node once, so its links are
/// not shared.
collective::Link ring_link(const Cluster& cluster, const Placement& placement);

/// An all-reduce over nominal links, with a time linear in the size of its message.
struct NominalAllReduce {
  std::string_view name;  ///< "rings within nodes and across them"
  LinearCost cost;
};

/// The all-reduces that the rule of a cluster offers for ranks ≥ 2; empty only for nccl, whose cost
/// model is not linear. Over N nodes of g ranks, with α_i and β_i of the link within a node
/// (link_within()) and α_e and β_e between nodes (link_between_nodes()) for a single message on it,
/// γ 0:
///   ring          2 (p - 1) (α + m/p β), each the larger of the two
///   hierarchical  2 (g - 1) (α_i + m/g β_i) + 2 (N - 1) (α_e + m/N β_e)
///   trees         2 (g - 1) α_i + 2 ⌈lg N⌉ α_e + 2 m max(β_i, β_e)
/// Trees are chains within nodes and a double binary tree of these, with pipelined pieces. quickest
/// offers every candidate that may be the fastest for some message: on one node the ring alone.
/// [Libraries use trees and two levels instead of one ring: NCCL 2.30 src/graph/tuning.cc at
/// 5067397, also the source of the trees' latency and bandwidth; Horovod
/// horovod/common/ops/nccl_operations.cc at 0246ec05. The fastest closed form stands for closed
/// libraries such as MVAPICH2-GDR: a judgement.]
/// quickest is wrong where a library takes a slower algorithm, as NCCL before 2.4, which has only
/// rings. trees is wrong where start-ups of pieces and the filling of the tree matter.
/// Throws ConfigError where the cluster gives a link no bandwidth.
std::vector<NominalAllReduce> nominal_all_reduces(const Cluster& cluster,
                                                  const Placement& placement);

/// The fastest for m bytes, the first of several. Requires at least one.
const NominalAllReduce& quickest(std::span<const NominalAllReduce> offered, Bytes m);

/// A tree of switches that add what they forward: InfiniBand SHARP.
struct AddingSwitches {
  /// Downlinks of a switch: half of 36 ports, as in the Switch-IB 2 below.
  int down_links = 18;
  /// Time of a hop: 8 B took 2.83 us on 128 hosts, two levels up and two down. [Graham et al.,
  /// COMHPC 2016, doi 10.1109/COMHPC.2016.006, abstract]
  Seconds hop{2.83e-6 / 4};
  /// The part of the network's bandwidth that streams reach. [Graham et al., ISC 2020, doi
  /// 10.1007/978-3-030-50743-5_3, abstract]
  double efficiency = 0.95;
};

/// Levels of the tree: h = ⌈log_r N⌉, 1 or more.
int levels_of(const AddingSwitches& switches, int nodes);

/// Time of an all-reduce of m bytes over N ≥ 2 nodes of g ranks: reduce-scatter within the nodes,
/// reduction of each rank's g-th part in the switches, all-gather within the nodes:
///   2 (g - 1) (α_i + m/g β_i) + (g - 1) m/g γ + α_e + 2 h α_s + m β_e / η
/// with i within nodes and e for the link of a node. Its ranks share that link, so all of m crosses
/// it once each way; intra.gamma is the cost of addition. Wrong where switches add in segments
/// instead of streams (Switch-IB 2), which fall back to the hosts for large messages.
Seconds in_network_all_reduce(const AddingSwitches& switches, const collective::Links& links,
                              const Placement& placement, Bytes m);

}  // namespace dlscale::model
