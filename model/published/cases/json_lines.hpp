#pragma once
#include <filesystem>
#include <functional>
#include <string_view>

#include "model/published/cases/json_fields.hpp"

namespace dlscale::cases {

/// Calls `visit` for every line of a file of JSON lines, in order, except for blank lines. `what`
/// names their content in messages: "cases". Throws ConfigError that names the file, and the number
/// of a line, for:
/// - a path that is not a regular file, or cannot be read, or is empty or too large;
/// - a line that is not a JSON object in UTF-8, or a truncated last line.
void for_each_line(const std::filesystem::path& path, std::string_view what,
                   const std::function<void(const JsonFields& line)>& visit);

}  // namespace dlscale::cases
