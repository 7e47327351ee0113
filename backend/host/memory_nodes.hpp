#pragma once
#include <filesystem>
#include <map>

namespace dlscale::backend {

/// Maps each hardware thread to its nearest NUMA node, both by the numbers of Linux, as reported
/// below `nodes`. Unreported threads are left out.
std::map<int, int> memory_nodes_below(const std::filesystem::path& nodes);

}  // namespace dlscale::backend
