#pragma once
#include <string>

#include "core/base/units.hpp"
#include "core/cluster/node_links.hpp"

namespace dlscale::model {

/// Rings over the first devices of a node, all together.
struct NodeRing {
  BytesPerSecond bandwidth;  ///< of a device to the next ones
  int rings = 1;             ///< side by side
  bool over_tree = false;    ///< some step crosses the tree to the host, and no NVLink
  [[nodiscard]] std::string text() const;  ///< "6 rings of NVLinks"
};

/// What a ring over the first k ≥ 2 devices of a node carries:
///   switches:                     links of a device · b
///   a mesh with rings among them: R(k) · b, R the most that share no link (core/cluster/nvlink_rings.hpp)
///   else, and without NVLinks:    the least of the links of the tree that lie between two of them
/// with b of one NVLink. A ring in the order of the tree crosses each of its links at most once
/// each way, and no ring avoids one that lies between its devices; a ring is taken to cross the
/// tree throughout if it must anywhere, which steps over NVLinks beside it do not slow. Nominal,
/// [D]; on DGX-1 4 rings of P100 and 6 of V100 as NCCL has them. Wrong where a library makes rings
/// through NVLinks of a third device (NCCL since 2.8, which it calls NVB), and where sockets
/// forward less between devices than their link carries.
NodeRing ring_over(const NodeLinks& node, int k);

/// What one device sends to another while all else rests: all NVLinks between them, or of a device
/// to switches; where there are none, the least link of the way through the tree.
BytesPerSecond between(const NodeLinks& node, int a, int b);

/// What the first k ≥ 1 devices get out of their node, or into it, through all adapters, each of
/// that bandwidth: the most flow of the tree from the devices to the adapters. As adapters that
/// read the memory of devices themselves (GPUDirect RDMA); through memory of the host, bytes cross
/// the tree twice. Without word of where adapters hang, all that the adapters carry.
BytesPerSecond out_of_node(const NodeLinks& node, int k, int adapters, BytesPerSecond adapter);

/// The part of their full rate that N nodes in a job get, where all send at once to nodes chosen
/// without regard to switches: the (N - r) / (N - 1) of it that leave groups of r must pass links
/// that carry the share s of what a group sends,
///   1 for N ≤ r, else min(1, s (N - 1) / (N - r)).   [D]
/// Ranks that are numbered along the switches get more: their ring leaves each group once.
double taper(const NetworkLinks& network, int nodes);

}  // namespace dlscale::model
