#pragma once
#include <bit>
#include <cstdint>

#include "core/run/run.hpp"

namespace dlscale::backend {

/// binary16: 11 bits of significand with the hidden one, 5 of exponent. Numbers below 2^-14 are
/// multiples of 2^-24.
inline float from_half(std::uint16_t value) {
  const std::uint32_t sign = (value & 0x8000U) << 16;
  const std::uint32_t size = value & 0x7FFFU;
  if (size >= 0x7C00U) {  // infinite, or a NaN
    return std::bit_cast<float>(sign | 0x7F800000U | ((size & 0x3FFU) << 13));
  }
  if (size < 0x0400U) {
    return std::bit_cast<float>(sign |
                                std::bit_cast<std::uint32_t>(static_cast<float>(size) * 0x1p-24F));
  }
  return std::bit_cast<float>(sign | ((size << 13) + (112U << 23)));
}

/// Rounds to nearest, ties to even. Numbers from 65520 on become infinite, as it is halfway between
/// 65504 and the next step. A NaN stays one.
inline std::uint16_t to_half(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000U;
  const std::uint32_t size = bits & 0x7FFFFFFFU;
  std::uint32_t half = 0;
  if (size > 0x7F800000U) {
    half = 0x7E00U;
  } else if (size >= 0x477FF000U) {
    half = 0x7C00U;
  } else if (size < 0x38800000U) {  // 2^-14: the last bit of 0.5 + x stands for 2^-24
    half = std::bit_cast<std::uint32_t>(std::bit_cast<float>(size) + 0.5F) - 0x3F000000U;
  } else {
    half = (size - (112U << 23) + 0x0FFFU + ((size >> 13) & 1U)) >> 13;
  }
  return static_cast<std::uint16_t>(sign | half);
}

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

/// Rounds a finite number to nearest, ties to even, with `bits` bits of significand (the hidden one
/// included) and an exponent of at least `least`.
float round_significand(float value, int bits, int least);

/// The number of `dtype` nearest to `value`.
float rounded(DType dtype, float value);

}  // namespace dlscale::backend
