#pragma once
#include "core/base/units.hpp"
#include "core/collective/link.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {

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
