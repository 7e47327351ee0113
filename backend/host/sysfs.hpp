#pragma once
#include <filesystem>
#include <map>
#include <vector>

#include "backend/host/topology.hpp"

namespace dlscale::backend {

/// The data caches of the first processor, nearest first, as Linux reports them below `cpus`.
/// Unreported caches are left out.
std::vector<DataCache> data_caches_below(const std::filesystem::path& cpus);

/// Maps each hardware thread to its nearest NUMA node, both by the numbers of Linux, as reported
/// below `nodes`. Unreported threads are left out.
std::map<int, int> memory_nodes_below(const std::filesystem::path& nodes);

}  // namespace dlscale::backend
