#include "backend/host/caches.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <string>

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

}  // namespace dlscale::backend
