#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/units.hpp"
#include "core/cluster/cluster.hpp"

namespace dlscale::backend {

/// This machine as a cluster of one node: `workers` ≥ 1 CPU devices that share its cores and memory
/// evenly. Values that only a data sheet gives (peak, bandwidths, latencies) are absent or zero,
/// never guessed.
Cluster detect_local_cluster(int workers);

/// Cores this process may use, as the operating system numbers them. Each hardware thread counts as
/// a core. The first threads of all cores come before the second ones, so that a share of the list
/// spreads over whole cores while there are any.
std::vector<int> usable_cores();

/// Binds the calling thread (and threads it starts later) to one of the equal shares of the node's
/// cores: share i gets cores [i·c, (i+1)·c) of usable_cores(). A rank that the launcher has bound
/// sees only its own cores, so its share is 0. Call once, before threads start. Throws ConfigError
/// if there are fewer cores than requested.
void bind_to_cores(int share, int cores_per_rank);

/// Size of the last-level cache of core 0 in bytes; 0 if the system does not report it.
Bytes last_level_cache();

/// CPU limit of the control group (a container's limit) in processors, for example 1.5; nothing if
/// it is unlimited.
std::optional<double> cpu_quota();

/// Warnings, with advice, about measurements here while each of `ranks` ranks on this node keeps
/// `threads` cores busy. Causes: this process may use fewer cores, or a quota is too small for all
/// ranks.
std::vector<std::string> host_warnings(int threads, int ranks);

/// Number of NUMA nodes that are nearest to the usable cores of this process; 1 if the system does
/// not report it.
int usable_memory_nodes();

/// Warnings, with advice, about `threads` threads of this process on cores near `nodes` NUMA nodes,
/// if one thread wrote all operands first. The system then places them on the node of that thread.
std::vector<std::string> memory_node_warnings(int threads, int nodes);

/// Binds the calling thread alone to a core, numbered as in usable_cores(). The destructor, on the
/// same thread, restores the previous binding. Throws LibraryError if the system refuses.
class BoundThread {
 public:
  explicit BoundThread(int core);
  ~BoundThread();
  BoundThread(const BoundThread&) = delete;
  BoundThread& operator=(const BoundThread&) = delete;

 private:
  struct Before;
  std::unique_ptr<Before> before_;
};

}  // namespace dlscale::backend
