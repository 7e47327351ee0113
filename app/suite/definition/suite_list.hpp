#pragma once
#include <string>
#include <vector>

#include "core/base/error.hpp"

namespace dlscale::app {

/// Prints the suites that are in configs/suites, one a line, with what they are and their tags;
/// only those that have all of `tags`, or a cell that has. Throws Error (nothing_measured) for tags
/// that none has, naming those there are.
ExitCode list_suites(const std::vector<std::string>& tags);

}  // namespace dlscale::app
