#include "core/config/data_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "core/text/escape_for_terminal.hpp"
#include "core/text/suggest.hpp"

namespace dlscale {
namespace {

constexpr std::string_view every_key = "all";

template <class Words>
bool holds(const Words& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::vector<std::string> read_keys(const ConfigMap& map, std::span<const std::string_view> stated) {
  std::vector<std::string> known(stated.begin(), stated.end());
  std::vector<std::string> keys = map.texts("of");
  if (keys == std::vector<std::string>{std::string(every_key)}) return known;
  for (const std::string& key : keys) {
    if (holds(known, key)) continue;
    throw ConfigError(fmt::format("{} names \"{}\" (no figure of this file). {}", map.where("of"),
                                  escape_for_terminal(key), suggestion(key, known)));
  }
  if (keys.empty()) map.refuse("of", "no figure at all", "Name those that it is the source of.");
  return keys;
}

DataSource read_source(const ConfigMap& map, std::span<const std::string_view> stated) {
  map.allow_only({"of", "title", "url", "checked"});
  DataSource source;
  source.of = read_keys(map, stated);
  source.title = map.text("title");
  source.url = map.text_or("url", "");
  source.checked = map.flag_or("checked", false);
  if (!source.url.empty() && !source.url.starts_with("http")) {
    map.refuse("url", "no address", "Write one that begins with http, or leave it out.");
  }
  if (source.checked && source.url.empty()) {
    map.refuse("checked", "without a place where the text is", "Add its url, or write false.");
  }
  return source;
}

}  // namespace

std::vector<DataSource> read_sources(const ConfigMap& map,
                                     std::span<const std::string_view> stated) {
  std::vector<DataSource> sources;
  for (const ConfigMap& entry : map.maps("sources")) sources.push_back(read_source(entry, stated));
  for (const std::string_view key : stated) {
    const bool has_one = std::any_of(sources.begin(), sources.end(),
                                     [key](const auto& source) { return holds(source.of, key); });
    if (has_one) continue;
    throw ConfigError(
        fmt::format("{} has no source (a figure from nowhere cannot be trusted). Add an entry to "
                    "sources with \"of: {}\".",
                    map.where(key), key));
  }
  return sources;
}

std::vector<std::string_view> stated_keys(const ConfigMap& map,
                                          std::span<const std::string_view> keys) {
  std::vector<std::string_view> stated;
  std::copy_if(keys.begin(), keys.end(), std::back_inserter(stated),
               [&map](std::string_view key) { return map.has(key); });
  return stated;
}

}  // namespace dlscale
