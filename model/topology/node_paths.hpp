#pragma once
#include <string>

#include "core/base/units.hpp"
#include "core/cluster/node_links.hpp"

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

}  // namespace dlscale::model
