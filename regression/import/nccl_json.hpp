#pragma once
#include <string_view>
#include <vector>

#include "core/text/launcher_lines.hpp"

namespace dlscale::regression::history {

/// The lines of the text that nccl-tests prints beside its JSON (-J, since 2.17.5), with all digits
/// of the JSON. A row has the number of its result, and other lines have 0. Throws ConfigError
/// without the name of the file for other JSON.
std::vector<LauncherLine> lines_of_nccl_json(std::string_view json);

}  // namespace dlscale::regression::history
