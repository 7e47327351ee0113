#pragma once
#include <string>
#include <utility>
#include <vector>

namespace dlscale::app {

/// Environment variables that a suite sets for MPI's launchers; values set by the user win
/// (run_child).
std::vector<std::pair<std::string, std::string>> launcher_settings();

}  // namespace dlscale::app
