#pragma once
#include "core/base/units.hpp"
#include "core/cluster/nccl_facts.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {

/// Copies of one pattern that NCCL runs side by side, and what each of them carries.
struct NcclChannels {
  int count = 0;
  BytesPerSecond within_node;
  BytesPerSecond between_nodes;
};

/// The rings that NCCL's search finds among GPUs that reach each other alike (a switch, or links
/// between all of them), and the trees, of which it makes as many: for each bandwidth of a list as
/// many rings as the GPUs and adapters carry, the most in all winning, the fewest among equals;
/// doubled where one ring would need more than a thread block moves. No path but that of the facts
/// is looked at: where sockets or PCIe switches lie between, NCCL finds less. [NCCL 2.30,
/// ncclTopoCompute() and ncclTopoDupChannels() in src/graph/search.cc at 5067397]
NcclChannels ring_channels(const NcclFacts& facts, const Placement& placement);

/// The channels of NVLS, one for each GPU of a node as the head of a multicast, which draws on
/// every GPU. None (count 0) below Hopper or without an NVSwitch. [ncclTopoSearchTryNvls(), there]
NcclChannels multicast_channels(const NcclFacts& facts, const Placement& placement);

}  // namespace dlscale::model
