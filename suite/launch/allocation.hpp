#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/config/system_file.hpp"

namespace dlscale::suite {

/// The nodes that a scheduler gave to the job of this process.
struct Allocation {
  Scheduler scheduler = Scheduler::slurm;
  std::string job;    ///< job number; empty if the scheduler does not report it
  int nodes = 0;      ///< 0: not reported by the scheduler
  std::string names;  ///< names of the nodes in the scheduler's notation: "node[1-3]"; may be empty
  std::vector<std::string> options{};  ///< options of the command line that submitted the job (-J)
};

/// The variable by which dlscale's scripts pass those options to the job, as a JSON list.
inline constexpr const char* job_options_variable = "_DLSCALE_JOB_OPTIONS";

/// Finds the allocation of this process; nothing outside a job. `variable` returns the value of an
/// environment variable, or null. Throws ConfigError if the options are not a JSON list.
std::optional<Allocation> find_allocation(const std::function<const char*(const char*)>& variable);

}  // namespace dlscale::suite
