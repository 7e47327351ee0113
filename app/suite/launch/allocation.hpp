#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/config/system_file.hpp"

namespace dlscale::app {

/// Nodes that a scheduler has given to the job in which this process runs.
struct Allocation {
  Scheduler scheduler = Scheduler::slurm;
  std::string job;    ///< its number; empty where the scheduler does not tell
  int nodes = 0;      ///< 0: the scheduler does not tell
  std::string names;  ///< of the nodes, as the scheduler writes them: "node[1-3]"; may be empty
  std::vector<std::string> options{};  ///< of the command line that submitted the job (-J)
};

/// Where a script that dlscale writes leaves those options for the job, as a JSON list.
inline constexpr const char* job_options_variable = "_DLSCALE_JOB_OPTIONS";

/// Nothing outside a job. `variable` returns the value of an environment variable, or null. Throws
/// ConfigError if the options are no such list.
std::optional<Allocation> find_allocation(const std::function<const char*(const char*)>& variable);

}  // namespace dlscale::app
