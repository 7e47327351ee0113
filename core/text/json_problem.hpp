#pragma once
#include <exception>
#include <string>
#include <string_view>

namespace dlscale {

/// What is wrong with JSON by an exception of nlohmann_json, as a clause of a message for people:
/// "line 3, column 17 is no JSON", "it ends within line 3", "the key \"pass\" is missing", "a value
/// is of the wrong type: string is needed, not number". `text` is what was parsed, for the line.
std::string json_problem(const std::exception& error, std::string_view text);

}  // namespace dlscale
