#pragma once
#include <cstdint>

namespace dlscale::backend {

/// 64 random bits for each place of each stream. Counter-based, for data and choices that are the
/// same in every run.
constexpr std::uint64_t random_bits(std::uint64_t stream, std::uint64_t place) {
  std::uint64_t z = (stream * 0x9E3779B97F4A7C15U + place + 1) * 0xD1342543DE82EF95U;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31);
}

}  // namespace dlscale::backend
