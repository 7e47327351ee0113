#include "core/text/json_problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/base/error.hpp"
#include "core/text/escape_for_terminal.hpp"

namespace dlscale {
namespace {

using Json = nlohmann::json;

constexpr int key_not_found = 403;
constexpr int wrong_type = 302;

/// `byte` counts from 1; the one after the last is the end.
std::string parse_problem(std::string_view text, std::size_t byte) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) return "it is empty";
  const std::string_view before = text.substr(0, byte == 0 ? 0 : byte - 1);
  const auto line = 1 + std::ranges::count(before, '\n');
  if (byte > text.size()) return fmt::format("it ends within line {}", line);
  const std::size_t start =
      before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  return fmt::format("line {}, column {} is not JSON", line, before.size() - start + 1);
}

/// Removes the library's own "[json.exception.type_error.302] ".
std::string_view without_prefix(std::string_view what) {
  const std::size_t end = what.find("] ");
  return what.starts_with('[') && end != std::string_view::npos ? what.substr(end + 2) : what;
}

/// Text between the first two quotes.
std::string_view between_quotes(std::string_view what) {
  const std::size_t first = what.find('\'');
  const std::size_t last = what.find('\'', first + 1);
  return last == std::string_view::npos ? what : what.substr(first + 1, last - first - 1);
}

/// Problem from "type must be string, but is number".
std::string type_problem(std::string_view what) {
  constexpr std::string_view opening = "type must be ";
  constexpr std::string_view middle = ", but is ";
  const std::size_t at = what.find(middle);
  if (!what.starts_with(opening) || at == std::string_view::npos) {
    return "a value is of the wrong type";
  }
  return fmt::format("a value is of the wrong type: {} is needed, not {}",
                     what.substr(opening.size(), at - opening.size()),
                     what.substr(at + middle.size()));
}

}  // namespace

std::string json_problem(const std::exception& error, std::string_view text) {
  if (const auto* parsing = dynamic_cast<const Json::parse_error*>(&error)) {
    return parse_problem(text, parsing->byte);
  }
  const std::string_view what = without_prefix(error.what());
  if (const auto* range = dynamic_cast<const Json::out_of_range*>(&error)) {
    if (range->id == key_not_found)
      return fmt::format("the key \"{}\" is missing", between_quotes(what));
  }
  if (const auto* type = dynamic_cast<const Json::type_error*>(&error)) {
    return type->id == wrong_type ? type_problem(what) : "a value is of the wrong type";
  }
  return escape_for_terminal(what);  // a number too large is repeated there whole
}

void expect_json_depth(std::string_view text) {
  constexpr std::size_t most = 500;
  std::size_t depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char letter = text[i];
    if (letter == '"') in_string = !in_string;
    if (in_string && letter == '\\') ++i;
    if (in_string) continue;
    if ((letter == ']' || letter == '}') && depth > 0) --depth;
    if (letter != '[' && letter != '{') continue;
    if (++depth <= most) continue;
    throw ConfigError(fmt::format("line {} nests more than {} levels deep, as no results do",
                                  1 + std::ranges::count(text.substr(0, i), '\n'), most));
  }
}

}  // namespace dlscale
