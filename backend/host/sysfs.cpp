#include "backend/host/sysfs.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>

namespace dlscale::backend {
namespace {

/// Parses Linux's "32768K"; M and G may occur, too.
std::optional<Bytes> parse_size(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  const std::string unit(end, text.data() + text.size());
  if (unit == "K") return value * 1_KiB;
  if (unit == "M") return value * 1_MiB;
  if (unit == "G") return value * 1024_MiB;
  return unit.empty() ? std::optional(Bytes(value)) : std::nullopt;
}

std::string first_word(const std::filesystem::path& path) {
  std::string word;
  std::ifstream(path) >> word;
  return word;
}

/// The cache in that folder, if it holds data and Linux reports its level and size.
std::optional<DataCache> read_cache(const std::filesystem::path& folder) {
  const std::string level = first_word(folder / "level");
  const bool is_digit = level.size() == 1 && level >= "1" && level <= "9";
  const std::optional<Bytes> size = parse_size(first_word(folder / "size"));
  if (!is_digit || !size || first_word(folder / "type") == "Instruction") return std::nullopt;
  return DataCache{
      .level = level.front() - '0',
      .size = *size,
      .line = parse_size(first_word(folder / "coherency_line_size")).value_or(Bytes(0))};
}

std::optional<int> parse_number(std::string_view text) {
  int value = 0;
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (error != std::errc() || end != last || value < 0) return std::nullopt;
  return value;
}

/// The number behind "node"; nothing for other folder names.
std::optional<int> number_of(const std::string& folder) {
  constexpr std::string_view word = "node";
  if (!folder.starts_with(word)) return std::nullopt;
  return parse_number(std::string_view(folder).substr(word.size()));
}

/// Parses a list: "0-3,8" are the hardware threads 0, 1, 2, 3 and 8.
void add_listed(const std::string& list, int node, std::map<int, int>& nodes) {
  std::istringstream parts(list);
  for (std::string part; std::getline(parts, part, ',');) {
    const std::size_t dash = part.find('-');
    const auto first = parse_number(std::string_view(part).substr(0, dash));
    const auto last =
        dash == std::string::npos ? first : parse_number(std::string_view(part).substr(dash + 1));
    if (!first || !last) continue;
    for (int thread = *first; thread <= *last; ++thread) nodes[thread] = node;
  }
}

}  // namespace

std::vector<DataCache> data_caches_below(const std::filesystem::path& cpus) {
  std::vector<DataCache> caches;
  std::error_code absent;
  for (const auto& entry : std::filesystem::directory_iterator(cpus / "cpu0" / "cache", absent)) {
    if (const auto found = read_cache(entry.path())) caches.push_back(*found);
  }
  std::sort(caches.begin(), caches.end(),
            [](const DataCache& a, const DataCache& b) { return a.level < b.level; });
  return caches;
}

std::map<int, int> memory_nodes_below(const std::filesystem::path& nodes) {
  std::map<int, int> all;
  std::error_code absent;
  for (const auto& entry : std::filesystem::directory_iterator(nodes, absent)) {
    const auto node = number_of(entry.path().filename().string());
    if (!node) continue;
    std::string list;
    std::ifstream(entry.path() / "cpulist") >> list;
    add_listed(list, *node, all);
  }
  return all;
}

}  // namespace dlscale::backend
