#include "backend/host/caches.hpp"

#include <charconv>
#include <fstream>
#include <optional>
#include <string>

namespace dlscale::backend {
namespace {

/// Linux writes "32768K", and may write M or G.
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

}  // namespace

Bytes last_level_cache_below(const std::filesystem::path& cpus) {
  Bytes size;
  int highest = 0;
  std::error_code absent;
  for (const auto& entry : std::filesystem::directory_iterator(cpus / "cpu0" / "cache", absent)) {
    const std::string level = first_word(entry.path() / "level");
    const int number = level.size() == 1 && level <= "9" ? level.front() - '0' : 0;
    const std::optional<Bytes> found = parse_size(first_word(entry.path() / "size"));
    if (number <= highest || !found) continue;
    highest = number;
    size = *found;
  }
  return size;
}

}  // namespace dlscale::backend
