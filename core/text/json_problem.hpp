#pragma once
#include <exception>
#include <string>
#include <string_view>

namespace dlscale {

/// Describes an exception of nlohmann_json as a clause of a message: "it ends within line 3", "the
/// key \"pass\" is missing", "a value is of the wrong type: string is needed, not number". `text`
/// is the parsed text, for the line number.
std::string json_problem(const std::exception& error, std::string_view text);

/// Throws ConfigError with the line if arrays and objects nest more than 500 levels deep. The parser
/// takes any depth, but copying or printing such a value exhausts the stack.
void expect_json_depth(std::string_view text);

}  // namespace dlscale
