#pragma once
#include <exception>
#include <string>
#include <string_view>

namespace dlscale {

/// Describes an exception of nlohmann_json as a clause of a message: "it ends within line 3", "the
/// key \"pass\" is missing", "a value is of the wrong type: string is needed, not number". `text`
/// is the parsed text, for the line number.
std::string json_problem(const std::exception& error, std::string_view text);

}  // namespace dlscale
