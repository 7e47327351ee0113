#pragma once
#include <optional>
#include <string>

#include "suite/definition/suite.hpp"

namespace dlscale::suite {

/// Options of `dlscale bench` that are given to all steps of a suite at once.
struct SuiteOptions {
  std::optional<double> wait_quiet_s;  ///< limit of each step for --wait-quiet, in seconds
  std::string cluster;                 ///< value of --cluster; empty: none
};

/// Adds the options to steps whose benchmark has them, unless a step sets them itself. Throws
/// ConfigError if an option would have no effect on any step.
void add_options(const SuiteOptions& options, const Commands& commands, Suite& suite);

}  // namespace dlscale::suite
