#include "app/suite/cells/distribution.hpp"

#include <system_error>

#include "app/suite/cells/plan.hpp"

namespace dlscale::app {

namespace fs = std::filesystem;

std::vector<std::string> nodes_to_try(const std::vector<SlurmNode>& nodes, const std::string& which,
                                      const fs::path& out) {
  std::vector<std::string> names;
  for (const SlurmNode& node : nodes) {
    std::error_code absent;
    const bool wanted = which == "all" ? node.usable() : node.idle();
    if (wanted || fs::exists(plan_path(out / node.name), absent)) names.push_back(node.name);
  }
  return names;
}

}  // namespace dlscale::app
