#include "backend/compute/cuda/probes/cycle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <utility>

#include "core/base/error.hpp"

namespace dlscale::backend::cuda {
namespace {

constexpr std::size_t word_bytes = sizeof(std::uint32_t);

/// An unbiased number below `bound`: rejects the incomplete last range.
std::uint64_t below(std::uint64_t bound, std::mt19937_64& random) {
  const std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  const std::uint64_t limit = most - most % bound;
  std::uint64_t drawn = random();
  while (drawn >= limit) drawn = random();
  return drawn % bound;
}

/// The finaliser of SplitMix64 [Steele, Lea, Flood 2014].
std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15U;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31);
}

/// Calls visit(first, count, word) for each group of up to 8 bytes and its expected content.
template <class Visit>
void for_each_word(std::size_t bytes, std::uint64_t seed, Visit visit) {
  const std::uint64_t base = mix(seed);
  for (std::size_t first = 0; first < bytes; first += sizeof(std::uint64_t)) {
    visit(first, std::min(sizeof(std::uint64_t), bytes - first), mix(base + first));
  }
}

}  // namespace

std::vector<std::uint32_t> single_cycle(std::size_t nodes, std::uint64_t seed) {
  EXPECT(nodes >= 1 && nodes <= std::numeric_limits<std::uint32_t>::max());
  std::vector<std::uint32_t> next(nodes);
  std::iota(next.begin(), next.end(), 0U);
  std::mt19937_64 random(seed);
  for (std::size_t last = nodes - 1; last > 0; --last) {
    std::swap(next[last], next[below(last, random)]);
  }
  return next;
}

std::size_t chase_nodes(const ChaseSpec& spec) {
  return spec.bytes / spec.stride;
}

void check(const ChaseSpec& spec) {
  if (spec.stride == 0 || spec.stride % word_bytes != 0) {
    throw ConfigError(fmt::format(
        "a pointer chase has a stride of {} bytes (it goes from word to word of 4 bytes). Choose a "
        "positive multiple of 4.",
        spec.stride));
  }
  if (spec.bytes % word_bytes != 0 || chase_nodes(spec) < 2) {
    throw ConfigError(
        fmt::format("a pointer chase through {} bytes has a stride of {} (it needs two addresses "
                    "at least, and whole words of 4 bytes). Choose a larger working set.",
                    spec.bytes, spec.stride));
  }
  if (spec.bytes / word_bytes > std::numeric_limits<std::uint32_t>::max()) {
    throw ConfigError(
        fmt::format("a pointer chase has a working set of {} bytes (its words are numbered by 32 "
                    "bits). Choose less than 16 GiB.",
                    spec.bytes));
  }
}

std::vector<std::uint32_t> chase_image(const ChaseSpec& spec, std::uint64_t seed) {
  check(spec);
  const std::size_t stride = spec.stride / word_bytes;
  const std::vector<std::uint32_t> next = single_cycle(chase_nodes(spec), seed);
  std::vector<std::uint32_t> image(spec.bytes / word_bytes);
  for (std::size_t node = 0; node < next.size(); ++node) {
    image[node * stride] = static_cast<std::uint32_t>(next[node] * stride);
  }
  return image;
}

std::size_t wrong_visits(std::span<const std::uint32_t> image, std::uint32_t start,
                         std::span<const std::uint32_t> visited) {
  std::size_t wrong = 0;
  std::uint32_t at = start;
  for (const std::uint32_t seen : visited) {
    at = image[at];
    wrong += seen == at ? 0 : 1;
  }
  return wrong;
}

std::uint32_t follow(std::span<const std::uint32_t> image, std::uint32_t start, std::size_t steps) {
  std::uint32_t at = start;
  for (std::size_t step = 0; step < steps; ++step) at = image[at];
  return at;
}

void fill_pattern(std::span<std::byte> bytes, std::uint64_t seed) {
  for_each_word(bytes.size(), seed, [&](std::size_t first, std::size_t count, std::uint64_t word) {
    std::memcpy(bytes.data() + first, &word, count);
  });
}

std::size_t wrong_bytes(std::span<const std::byte> bytes, std::uint64_t seed) {
  std::size_t wrong = 0;
  for_each_word(bytes.size(), seed, [&](std::size_t first, std::size_t count, std::uint64_t word) {
    if (std::memcmp(bytes.data() + first, &word, count) == 0) return;
    std::byte expected[sizeof(word)];
    std::memcpy(expected, &word, sizeof(word));
    for (std::size_t i = 0; i < count; ++i) wrong += bytes[first + i] == expected[i] ? 0 : 1;
  });
  return wrong;
}

}  // namespace dlscale::backend::cuda
