#include "backend/compute/cuda/probes/pattern.hpp"

#include <algorithm>
#include <cstring>

namespace dlscale::backend::cuda {
namespace {

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
