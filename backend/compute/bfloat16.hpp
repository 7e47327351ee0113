#pragma once
#include <bit>
#include <cstdint>

namespace dlscale::backend {

/// bfloat16 is the upper half of a binary32: 8 bits of exponent, 8 of significand with the hidden
/// one.
inline float from_bfloat16(std::uint16_t value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value) << 16);
}

/// Rounds to nearest, ties to even, as the vcvtneps2bf16 instruction does. A NaN stays one.
inline std::uint16_t to_bfloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (value != value) return static_cast<std::uint16_t>((bits >> 16) | 0x40U);
  return static_cast<std::uint16_t>((bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16);
}

}  // namespace dlscale::backend
