#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "core/text/launcher_lines.hpp"

namespace dlscale::regression::history {

/// The text that stands for a JSON document of nccl-tests.
struct NcclJsonText {
  std::vector<LauncherLine> lines;
  std::string start_time;  ///< "2026-08-01 10:00:00", local; empty: not stated so
};

/// The lines of the text that nccl-tests prints beside its JSON (-J, since 2.17.5), with all digits
/// of the JSON. A row has the number of its result, and other lines have 0. Adds a note on text
/// that stands around the JSON. Throws ConfigError without the name of the file for other JSON, and
/// for a second document.
NcclJsonText text_of_nccl_json(std::string_view json, std::vector<std::string>& notes);

}  // namespace dlscale::regression::history
