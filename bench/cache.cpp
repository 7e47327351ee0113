#include "bench/cache.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "core/error.hpp"

namespace dlscale::bench {
namespace {

constexpr std::size_t line_bytes = 64;
constexpr Bytes least_flush = 64_MiB;
constexpr CacheState all_states[] = {CacheState::cold, CacheState::producer, CacheState::hot};

/// Linux writes "32768K", and may write M or G.
std::optional<Bytes> parse_size(const std::string& text) {
  std::size_t end = 0;
  double value = 0;
  try {
    value = std::stod(text, &end);
  } catch (const std::exception&) {
    return std::nullopt;
  }
  const std::string unit = text.substr(end);
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

std::string_view cache_state_name(CacheState state) {
  switch (state) {
    case CacheState::cold:
      return "cold";
    case CacheState::producer:
      return "producer";
    case CacheState::hot:
      return "hot";
  }
  fail_expectation("a known cache state");
}

CacheState parse_cache_state(std::string_view name) {
  for (const CacheState state : all_states) {
    if (cache_state_name(state) == name) return state;
  }
  throw ConfigError(fmt::format(
      "--cache is \"{}\" (not a state of the caches). Write cold, producer or hot.", name));
}

std::optional<Bytes> last_level_cache(const std::filesystem::path& cpus) {
  std::optional<Bytes> size;
  int highest = 0;
  std::error_code absent;
  for (const auto& entry : std::filesystem::directory_iterator(cpus / "cpu0" / "cache", absent)) {
    const std::string level = first_word(entry.path() / "level");
    const int number = level.size() == 1 && level <= "9" ? level.front() - '0' : 0;
    const std::optional<Bytes> found = parse_size(first_word(entry.path() / "size"));
    if (number <= highest || !found) continue;
    highest = number;
    size = found;
  }
  return size;
}

CacheFlusher::CacheFlusher(std::optional<Bytes> last_level) {
  const Bytes wanted = std::max(least_flush, 2 * last_level.value_or(Bytes(0)));
  const std::size_t lines = static_cast<std::size_t>(wanted.si()) / line_bytes;
  // Written, not only allocated: untouched pages would all be read from the one page of zeros.
  lines_.assign(lines * line_bytes, 0);
  for (std::size_t i = 0; i < lines_.size(); i += line_bytes) lines_[i] = 1;
}

std::size_t CacheFlusher::flush() const {
  std::size_t lines = 0;
  for (std::size_t i = 0; i < lines_.size(); i += line_bytes) {
    lines += *static_cast<const volatile unsigned char*>(&lines_[i]);
  }
  return lines * line_bytes;
}

void touch(std::span<std::byte> data) {
  for (std::size_t i = 0; i < data.size(); i += line_bytes) {
    volatile std::byte& first = data[i];
    const std::byte held = first;
    first = held;
  }
}

}  // namespace dlscale::bench
