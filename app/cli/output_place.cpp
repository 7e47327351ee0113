#include "app/cli/output_place.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <system_error>

#include "core/base/error.hpp"
#include "core/text/shown_text.hpp"
#include "core/text/suggest.hpp"
#include "report/format/format.hpp"

namespace dlscale::app {
namespace {

namespace fs = std::filesystem;

/// Whether `word` is probably a misspelt `name`.
bool is_nearly(std::string_view word, const std::string& name) {
  return edit_distance(word, name) <= (name.size() > 4 ? 2 : 1);
}

std::string place_text(const OutputPlace& place) {
  return place.is_standard_output() ? "standard output" : place.path;
}

}  // namespace

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const auto* format : family<report::format::Format>().members) {
    names.emplace_back(format->name);
  }
  return names;
}

OutputPlace parse_place(std::string_view option, const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) return {.format = "", .path = text.empty() ? "-" : text};
  const std::string word = text.substr(0, equals);
  const std::vector<std::string> names = format_names();
  if (std::ranges::find(names, word) == names.end()) {
    const std::vector<std::string> nearest = nearest_first(word, names);
    if (nearest.empty() || !is_nearly(word, nearest.front())) {
      if (equals + 1 < text.size()) return {.format = "", .path = text};
      throw ConfigError(
          fmt::format("{0} {1}: \"{2}\" is not a format, and no file stands behind the =. Write "
                      "FORMAT=FILE, or ./{1} for a file of that name. Formats: {3}.",
                      option, shown_text(text), shown_text(word), fmt::join(names, ", ")));
    }
    throw ConfigError(fmt::format(
        "{0} {1}: \"{2}\" is not a format, and nearly the name of one. Write {3}={4}, or ./{1} for "
        "a file of that name. Formats: {5}.",
        option, shown_text(text), shown_text(word), nearest.front(),
        shown_text(text.substr(equals + 1)), fmt::join(names, ", ")));
  }
  const std::string path = text.substr(equals + 1);
  if (!path.empty()) return {.format = word, .path = path};
  throw ConfigError(fmt::format(
      "{0} {1} names a format and no file. Write a file or - behind the =, or ./{1} for a file of "
      "that name.",
      option, shown_text(text)));
}

bool same_place(const fs::path& a, const fs::path& b) {
  std::error_code error;
  if (fs::exists(a, error) && fs::exists(b, error)) return fs::equivalent(a, b, error);
  return fs::weakly_canonical(fs::absolute(a, error), error) ==
         fs::weakly_canonical(fs::absolute(b, error), error);
}

void refuse_shared_places(std::string_view option, std::span<const OutputPlace> places) {
  for (std::size_t i = 0; i < places.size(); ++i) {
    for (std::size_t j = i + 1; j < places.size(); ++j) {
      const bool both = places[i].is_standard_output() && places[j].is_standard_output();
      const bool neither = !places[i].is_standard_output() && !places[j].is_standard_output();
      if (!both && !(neither && same_place(places[i].path, places[j].path))) continue;
      throw ConfigError(
          fmt::format("{0} names {1} twice, so that one form of the answer would overwrite or "
                      "follow the other. Name another file.",
                      option, shown_text(place_text(places[j]))));
    }
  }
}

}  // namespace dlscale::app
