#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/base/units.hpp"
#include "core/cluster/cluster.hpp"

namespace dlscale::backend {

/// The machine this runs on as a cluster of one node: `workers` ≥ 1 CPU devices that share its
/// cores and memory evenly. What no data sheet gives here (peak, bandwidths, latencies) is left
/// absent or zero, never guessed.
Cluster detect_local_cluster(int workers);

/// Cores this process may use, as the operating system numbers them. Where a core runs several
/// hardware threads each counts as a core; the first threads of all cores come before the second
/// ones, so that a share of the list spreads over whole cores while there are any.
std::vector<int> usable_cores();

/// Binds the calling thread (and threads it starts later) to the cores of one of the equal shares
/// of the node: share i gets cores [i·c, (i+1)·c) of usable_cores(). A rank that the launcher has
/// bound sees its own cores only, so its share is 0. Call once, before threads start.
/// Throws ConfigError if there are fewer cores than asked for.
void bind_to_cores(int share, int cores_per_rank);

/// Bytes of the last-level cache of core 0; 0 if the system does not tell.
Bytes last_level_cache();

/// Processors' worth of time that the control group (a container's limit) allows, such as 1.5;
/// nothing if there is no limit.
std::optional<double> cpu_quota();

/// What makes measuring here doubtful while each of `ranks` ranks on this node keeps `threads`
/// cores busy, with advice: this process may use fewer, or a quota is below all of them.
std::vector<std::string> host_warnings(int threads, int ranks);

/// How many nodes of memory (NUMA) the cores are near that this process may use; 1 where the system
/// does not tell.
int usable_memory_nodes();

/// What is doubtful, with advice, about `threads` threads of this process on cores near so many
/// nodes of memory, where one of them wrote all operands first: the system then puts these onto the
/// node of that thread.
std::vector<std::string> memory_node_warnings(int threads, int nodes);

}  // namespace dlscale::backend
