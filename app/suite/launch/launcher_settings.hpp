#pragma once
#include <string>
#include <utility>
#include <vector>

namespace dlscale::app {

/// Settings of MPI's launchers that a suite needs, as environment variables; what the user has set
/// wins (run_child).
std::vector<std::pair<std::string, std::string>> launcher_settings();

}  // namespace dlscale::app
