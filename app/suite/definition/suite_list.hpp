#pragma once
#include <string>
#include <vector>

#include "core/base/error.hpp"

namespace dlscale::app {

/// Prints the suites in configs/suites, one a line, with description and tags. It prints only those
/// that have all of `tags`, or have a cell with all of them. If none has, throws Error
/// (nothing_measured) naming the existing tags.
ExitCode list_suites(const std::vector<std::string>& tags);

}  // namespace dlscale::app
