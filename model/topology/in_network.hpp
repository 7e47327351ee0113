#pragma once
#include "core/base/units.hpp"
#include "core/collective/link.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {

/// Switches that add what they pass on, in a tree: SHARP of InfiniBand.
struct AddingSwitches {
  /// Links down of a switch: half of 36 ports, as of the Switch-IB 2 below [MODEL 3.21].
  int down_links = 18;
  /// Of a hop: 8 B took 2.83 us on 128 hosts, two levels up and two down. [Graham et al., COMHPC
  /// 2016, doi 10.1109/COMHPC.2016.006, abstract]
  Seconds hop{2.83e-6 / 4};
  /// The part of the network's bandwidth that streams reach. [Graham et al., ISC 2020, doi
  /// 10.1007/978-3-030-50743-5_3, abstract]
  double efficiency = 0.95;
};

/// h = ⌈log_r N⌉, 1 or more.
int levels_of(const AddingSwitches& switches, int nodes);

/// All-reduce of m bytes over N ≥ 2 nodes of g ranks: reduce-scatter within the nodes, each sends
/// its g-th to the switches and gets the sum of it, all-gather within:
///   2 (g - 1) (α_i + m/g β_i) + (g - 1) m/g γ + α_e + 2 h α_s + m β_e / η   [MODEL 3.13, 3.21,
///   3.22]
/// with i within nodes and e of the link of a node, which its ranks share, so that all of m crosses
/// it once each way; intra.gamma is what adding costs. Wrong where switches add in segments and not
/// in streams (Switch-IB 2), which fall back to the hosts for large messages.
Seconds in_network_all_reduce(const AddingSwitches& switches, const collective::Links& links,
                              const Placement& placement, Bytes m);

}  // namespace dlscale::model
