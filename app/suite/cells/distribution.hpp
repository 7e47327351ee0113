#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "app/suite/launch/slurm.hpp"

namespace dlscale::app {

/// Of the nodes of a partition those that cells are to be carried out on, each by itself: "idle"
/// ones, or "all" that can be used; and those that have begun in this folder, whose jobs may run.
std::vector<std::string> nodes_to_try(const std::vector<SlurmNode>& nodes, const std::string& which,
                                      const std::filesystem::path& out);

}  // namespace dlscale::app
