#pragma once
#include <span>

#include "core/cluster/node_links.hpp"

namespace dlscale {

/// Maximum number of devices for nvlink_rings(); larger nodes have switches.
inline constexpr int most_mesh_devices = 16;

/// Maximum number of concurrent rings over a mesh. A ring is a cycle through each of the first
/// `devices` devices once, and no two rings share a link in the same direction. A ring in the
/// opposite direction is another one. Two devices have one ring per link. The result is 0 without a
/// cycle, as on five devices of a hybrid cube mesh.
///
/// A deterministic search, which stops after 200,000 steps: the result is then a lower bound. For
/// every board in nvlink_boards() it completes. [NCCL packs its rings so: ncclTopoCompute() in
/// src/graph/search.cc] Requires 2 ≤ devices ≤ most_mesh_devices.
int nvlink_rings(std::span<const NvlinkPair> pairs, int devices);

}  // namespace dlscale
