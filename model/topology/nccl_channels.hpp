#pragma once
#include "core/base/units.hpp"
#include "core/cluster/nccl_facts.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {

/// Copies of one pattern that NCCL runs in parallel, and the bandwidth of each.
struct NcclChannels {
  int count = 0;
  BytesPerSecond within_node;
  BytesPerSecond between_nodes;
};

/// The rings that NCCL's search finds among equally connected GPUs (a switch, or links between all
/// of them); it makes as many trees. For each bandwidth of a list it counts the rings that GPUs and
/// adapters carry. The most bandwidth in all wins, then the fewest rings. It doubles them where one
/// ring would need more than a thread block moves. Only the paths of the facts count: where sockets
/// or PCIe switches lie between, NCCL finds less. [NCCL 2.30, ncclTopoCompute() and
/// ncclTopoDupChannels() in src/graph/search.cc at 5067397]
NcclChannels ring_channels(const NcclFacts& facts, const Placement& placement);

/// The NVLS channels: one for each GPU of a node as the head of a multicast from every GPU. None
/// (count 0) below Hopper or without an NVSwitch. [ncclTopoSearchTryNvls(), there]
NcclChannels multicast_channels(const NcclFacts& facts, const Placement& placement);

}  // namespace dlscale::model
