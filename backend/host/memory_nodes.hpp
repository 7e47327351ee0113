#pragma once
#include <filesystem>
#include <map>

namespace dlscale::backend {

/// The node of memory (NUMA) that each hardware thread is nearest to, by the numbers that Linux
/// gives both, as it tells them below `nodes`; what it does not tell is left out.
std::map<int, int> memory_nodes_below(const std::filesystem::path& nodes);

}  // namespace dlscale::backend
