#include "bench/engine/cache.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "bench/engine/benchmark.hpp"
#include "core/base/error.hpp"
#include "core/text/quantity_text.hpp"

namespace dlscale::bench {
namespace {

constexpr std::size_t line_bytes = 64;
constexpr Bytes least_flush = 64_MiB;
/// Twice the pages of 4 KiB whose translations a processor keeps (2,048 to 3,072).
constexpr std::size_t small_part = std::size_t{16} << 20U;
/// Twice the huge pages whose translations a core keeps apart from small ones (32 on Intel).
constexpr std::size_t least_huge_pages = 64;
constexpr std::size_t huge_page = std::size_t{2} << 20U;

std::unique_ptr<backend::PagedMemory> in_largest_pages(std::size_t bytes) {
  try {
    return std::make_unique<backend::PagedMemory>(bytes, backend::PageSize::huge);
  } catch (const Unsupported&) {  // slower, but the caches end up the same
    return std::make_unique<backend::PagedMemory>(bytes, backend::PageSize::small);
  }
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
    case CacheState::rotating:
      return "rotating";
  }
  fail_expectation("a known cache state");
}

CacheState parse_cache_state(std::string_view name, std::span<const CacheState> offered) {
  std::vector<std::string_view> names;
  for (const CacheState state : offered) {
    names.push_back(cache_state_name(state));
    if (names.back() == name) return state;
  }
  throw ConfigError(
      fmt::format("{} is \"{}\" (not a state of the caches that is offered here). Write one of {}.",
                  option_name("cache"), name, fmt::join(names, ", ")));
}

Bytes flush_size(Bytes last_level) {
  return std::max(least_flush, 2 * last_level);
}

int rotation_sets(Bytes last_level, Bytes each) {
  EXPECT(each > Bytes(0));
  return 1 + static_cast<int>(std::ceil(flush_size(last_level) / each));
}

std::vector<std::string> unknown_size_warnings(Bytes last_level) {
  if (last_level > Bytes(0)) return {};
  return {fmt::format(
      "the size of the last-level cache is not known here, so {} pass through it to empty it. With "
      "a larger cache than half of that, times are those of partly warm caches.",
      to_text(flush_size(last_level)))};
}

CacheFlusher::CacheFlusher(Bytes last_level) {
  const std::size_t lines = static_cast<std::size_t>(flush_size(last_level).si()) / line_bytes;
  large_ = lines * line_bytes - small_part;
  parts_.push_back(in_largest_pages(std::max(large_, least_huge_pages * huge_page)));
  parts_.push_back(std::make_unique<backend::PagedMemory>(small_part, backend::PageSize::small));
  for (const auto& part : parts_) {
    for (std::size_t i = 0; i < part->bytes(); i += line_bytes) part->data()[i] = std::byte{1};
  }
}

std::size_t CacheFlusher::bytes() const {
  return large_ + small_part;
}

std::size_t CacheFlusher::flush() const {
  const auto ones = [](const backend::PagedMemory& part, std::size_t from, std::size_t to,
                       std::size_t step) {
    const auto* lines = reinterpret_cast<const volatile unsigned char*>(part.data());
    std::size_t count = 0;
    for (std::size_t at = from; at < to; at += step) count += lines[at];
    return count;
  };
  const backend::PagedMemory& large = *parts_.front();
  ones(large, large_, large.bytes(), huge_page);
  return line_bytes * (ones(large, 0, large_, line_bytes) +
                       ones(*parts_.back(), 0, small_part, line_bytes));
}

}  // namespace dlscale::bench
