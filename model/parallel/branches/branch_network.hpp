#pragma once
#include <vector>

#include "core/network/network.hpp"
#include "model/parallel/branches/branch_regions.hpp"

namespace dlscale::model {

/// The network that each of `ways` ranks computes: heads and slices have their `ways`-th part of
/// heads, features and groups. Layers keep their order and names; paths are left whole. Requires
/// regions of the network that pass check_branches().
Network branch_network(const Network& network, const std::vector<BranchRegion>& regions, int ways);

}  // namespace dlscale::model
