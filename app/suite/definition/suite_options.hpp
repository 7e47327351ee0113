#pragma once
#include <optional>
#include <string>

#include "app/suite/definition/suite.hpp"

namespace dlscale::app {

/// Options of `dlscale bench` that whoever carries out a suite gives to all of its steps at once.
struct SuiteOptions {
  std::optional<double> wait_quiet_s;  ///< seconds that each step may spend on --wait-quiet
  std::string cluster;                 ///< of --cluster; empty: none
};

/// Adds them to the steps whose benchmark has them, but for those that a step gives itself. Throws
/// ConfigError if one would have no effect on any step.
void add_options(const SuiteOptions& options, Suite& suite);

}  // namespace dlscale::app
