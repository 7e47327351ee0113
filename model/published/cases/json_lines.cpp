#include "model/published/cases/json_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

#include "core/base/error.hpp"
#include "core/system/input_file.hpp"

namespace dlscale::cases {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::uintmax_t most_bytes = std::uintmax_t{1} << 29U;

void refuse_large(const fs::path& path, std::string_view what) {
  std::error_code error;
  const std::uintmax_t bytes = fs::file_size(path, error);
  if (error || bytes <= most_bytes) return;
  throw ConfigError(
      fmt::format("{} has {} bytes, more than {} that are read at most. Name a file of {}.",
                  path.string(), bytes, most_bytes, what));
}

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

struct Place {
  std::string text;     ///< "cases.jsonl:3"
  bool is_cut = false;  ///< without a line end
};

/// Throws if a key of an object occurs twice, since the parser would keep only the last.
json parse_unambiguous(const std::string& line, const Place& place) {
  std::vector<std::set<std::string>> open;  // keys of the objects that are still open
  const auto look = [&](int, json::parse_event_t event, const json& value) {
    if (event == json::parse_event_t::object_start) open.emplace_back();
    if (event == json::parse_event_t::object_end) open.pop_back();
    if (event != json::parse_event_t::key) return true;
    if (open.back().insert(value.get<std::string>()).second) return true;
    throw ConfigError(fmt::format("{}: {} stands twice. Correct the line, or take it out.",
                                  place.text, value.get<std::string>()));
  };
  return json::parse(line, look);
}

json parse_line(const std::string& line, const Place& place, std::string_view what) {
  try {
    json value = parse_unambiguous(line, place);
    if (value.is_object()) return value;
  } catch (const json::parse_error& error) {
    if (place.is_cut) {
      throw ConfigError(
          fmt::format("{}: the last line is cut short, so that {} may be missing. Get the whole "
                      "file, or take the line out.",
                      place.text, what));
    }
    throw ConfigError(
        fmt::format("{}: column {} is no JSON in UTF-8. Correct the line, or take it out.",
                    place.text, error.byte));
  } catch (const json::exception&) {
    throw ConfigError(fmt::format(
        "{}: a number is too large to be one. Correct the line, or take it out.", place.text));
  }
  throw ConfigError(
      fmt::format("{}: this is no JSON object. Correct the line, or take it out.", place.text));
}

/// Replaces control characters, which could affect a terminal or break the one line of a message.
std::string without_controls(std::string text) {
  std::ranges::replace_if(
      text, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
  return text;
}

}  // namespace

void for_each_line(const fs::path& path, std::string_view what,
                   const std::function<void(const JsonFields& line)>& visit) {
  refuse_large(path, what);
  std::istringstream stream(read_input(path, fmt::format("Name a file of {} (*.jsonl).", what)));
  std::size_t number = 0;
  bool any = false;
  for (std::string line; std::getline(stream, line);) {
    ++number;
    if (is_blank(line)) continue;
    any = true;
    const Place place{fmt::format("{}:{}", path.string(), number), stream.eof()};
    try {
      const json object = parse_line(line, place, what);
      visit(JsonFields(object, place.text));
    } catch (const ConfigError& error) {
      throw ConfigError(without_controls(error.what()));
    }
  }
  if (!any) {
    throw ConfigError(
        fmt::format("{} holds no {}. Name a file with one a line.", path.string(), what));
  }
}

}  // namespace dlscale::cases
