#pragma once
#include <filesystem>
#include <functional>
#include <string_view>

#include "model/published/cases/json_fields.hpp"

namespace dlscale::cases {

/// Calls `visit` with every line of a file of JSON lines, in their order; blank lines are passed
/// over. `what` is what the lines hold: "cases". Throws ConfigError that names the file and, of
/// lines, their number: what is no regular file or cannot be read, is empty or too large, a line
/// that is no JSON object in UTF-8, and a last line that was cut short.
void for_each_line(const std::filesystem::path& path, std::string_view what,
                   const std::function<void(const JsonFields& line)>& visit);

}  // namespace dlscale::cases
