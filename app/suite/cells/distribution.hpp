#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "app/suite/launch/slurm.hpp"

namespace dlscale::app {

/// The nodes of a partition that cells run on, each by itself: the "idle" ones, or "all" that can
/// be used. Nodes that have begun in the folder `out` are included, since their jobs may still run.
std::vector<std::string> nodes_to_try(const std::vector<SlurmNode>& nodes, const std::string& which,
                                      const std::filesystem::path& out);

}  // namespace dlscale::app
