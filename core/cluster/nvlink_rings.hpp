#pragma once
#include <span>

#include "core/cluster/node_links.hpp"

namespace dlscale {

/// The most devices that nvlink_rings() looks at; larger nodes have switches.
inline constexpr int most_mesh_devices = 16;

/// How many rings run side by side over a mesh: cycles that pass through each of the first
/// `devices` devices once, as many as no two share a link in the same direction. A ring in the
/// opposite direction is another. Of two devices, one for each link. 0: there is no such cycle, as
/// on five devices of a hybrid cube mesh. Found by trying, in an order that does not change, which
/// is given up after 200,000 steps: then there are at least as many. Of every board in
/// nvlink_boards() it ends before. [NCCL packs its rings so: ncclTopoCompute() in
/// src/graph/search.cc] Requires 2 ≤ devices ≤ most_mesh_devices.
int nvlink_rings(std::span<const NvlinkPair> pairs, int devices);

}  // namespace dlscale
