#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "core/base/units.hpp"
#include "core/cluster/cluster.hpp"
#include "core/collective/schedule.hpp"
#include "core/network/merge.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {

/// An all-reduce over nominal links, with a time linear in the size of its message.
struct NominalAllReduce {
  std::string_view name;  ///< "rings within nodes and across them (3.13)"
  LinearCost cost;
};

/// The all-reduces that the rule of a cluster offers for ranks ≥ 2; empty only for nccl, whose cost
/// model is not linear. Over N nodes of g ranks, with α_i and β_i of the link within a node
/// (link_within()) and α_e and β_e between nodes (link_between_nodes()) for a single message on it,
/// γ 0:
///   ring          2 (p - 1) (α + m/p β), each the larger of the two                (1.14)
///   hierarchical  2 (g - 1) (α_i + m/g β_i) + 2 (N - 1) (α_e + m/N β_e)            (3.13)
///   trees         2 (g - 1) α_i + 2 ⌈lg N⌉ α_e + 2 m max(β_i, β_e)                 (3.5)
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
  /// Downlinks of a switch: half of 36 ports, as in the Switch-IB 2 below [MODEL 3.21].
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
///   2 (g - 1) (α_i + m/g β_i) + (g - 1) m/g γ + α_e + 2 h α_s + m β_e / η   [MODEL 3.13, 3.21,
///   3.22]
/// with i within nodes and e for the link of a node. Its ranks share that link, so all of m crosses
/// it once each way; intra.gamma is the cost of addition. Wrong where switches add in segments
/// instead of streams (Switch-IB 2), which fall back to the hosts for large messages.
Seconds in_network_all_reduce(const AddingSwitches& switches, const collective::Links& links,
                              const Placement& placement, Bytes m);

}  // namespace dlscale::model
