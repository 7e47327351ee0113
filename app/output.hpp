#pragma once
#include <string>
#include <string_view>

namespace dlscale::app {

/// Writes `text` to the file, or to standard output if `path` is "-" or empty. A file appears whole
/// or not at all (temporary name, then rename). Throws ConfigError when it cannot be written.
void write_output(const std::string& path, std::string_view text);

}  // namespace dlscale::app
