#include "report/format/format.hpp"

#include <unistd.h>
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "core/base/error.hpp"
#include "core/base/terminal_width.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "core/text/near_words.hpp"

namespace dlscale::report::format {

namespace {

std::string_view environment_variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view{} : std::string_view{value};
}

bool speaks_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string_view value = environment_variable(name);
    if (value.empty()) continue;
    return value.find("UTF-8") != value.npos || value.find("utf8") != value.npos;
  }
  return false;
}

bool shows_colour(int file_descriptor, ColourChoice choice) {
  switch (choice) {
    case ColourChoice::always:
      return true;
    case ColourChoice::never:
      return false;
    case ColourChoice::automatic:
      break;
  }
  const std::string_view term = environment_variable("TERM");
  return isatty(file_descriptor) == 1 && !term.empty() && term != "dumb" &&
         environment_variable("NO_COLOR").empty();
}

}  // namespace

Terminal detect_terminal(int file_descriptor, ColourChoice choice) {
  const bool colour = shows_colour(file_descriptor, choice);
  const bool utf8 = speaks_utf8();
  return {colour ? Colour::ansi : Colour::none, utf8 ? Charset::utf8 : Charset::ascii,
          line_width(file_descriptor), utf8 && isatty(file_descriptor) == 1};
}

const Format& find_format(std::string_view name) {
  const Family<Format> formats = family<Format>();
  if (const Format* found = formats.find(name)) return *found;
  std::vector<std::string> names;
  for (const Format* format : formats.members) names.emplace_back(format->name);
  throw ConfigError(fmt::format("\"{}\" is not a format. {}Use one of: {}.",
                                escape_for_terminal(name), did_you_mean(near_words(name, names)),
                                fmt::join(names, ", ")));
}

std::string kind_of(const Document& document) {
  if (!document.json.schema().empty()) return document.json.schema();
  return nlohmann::json::parse(document.json()).at("schema").get<std::string>();
}

std::string plain_kind_of(const Document& document) {
  std::string kind = kind_of(document);
  std::ranges::replace_if(
      kind, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return kind;
}

std::optional<std::size_t> column_of(const Table& table, std::string_view heading) {
  const auto found = std::ranges::find(table.columns, heading, &Column::heading);
  if (found == table.columns.end()) return {};
  return static_cast<std::size_t>(found - table.columns.begin());
}

}  // namespace dlscale::report::format
