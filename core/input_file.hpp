#pragma once
#include <filesystem>
#include <fstream>
#include <string_view>

namespace dlscale {

/// Opens a file that is given as input, to be read as it is (binary). Throws ConfigError, which
/// names the path and the reason and ends with `advice` (a sentence on what to do), where it is not
/// there or cannot be read, and where it is no regular file: a named pipe that nobody writes would
/// be waited for without end.
std::ifstream open_input(const std::filesystem::path& path, std::string_view advice);

}  // namespace dlscale
