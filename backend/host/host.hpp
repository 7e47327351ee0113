#pragma once
#include <vector>

#include "core/cluster.hpp"

namespace dlscale::backend {

/// The machine this runs on as a cluster of one node, by hwloc: `workers` CPU devices that share
/// its cores evenly. Peak and bandwidth that no data sheet gives here are left absent or zero,
/// never guessed.
Cluster detect_local_cluster(int workers);

/// Cores this process may use, in order.
std::vector<int> usable_cores();

/// Binds the calling thread (and threads it starts later) to the cores of one of `workers`
/// equal shares of the node: share i gets cores [i·c, (i+1)·c). Throws ConfigError if there are
/// fewer cores than asked for.
void bind_to_cores(int node_rank, int cores_per_rank);

}  // namespace dlscale::backend
