#include "backend/compute/precision.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.hpp"

namespace dlscale::backend {
namespace {

constexpr int half_bits = 11;
constexpr int half_least = -14;  ///< exponent of the smallest normal number
constexpr int tf32_bits = 11;
constexpr int f32_least = -126;

}  // namespace

float round_significand(float value, int bits, int least) {
  if (!std::isfinite(value) || value == 0.0F) return value;
  const int exponent = std::max(std::ilogb(value), least);
  // nearbyint rounds to nearest, ties to even, unless the program changed that: it does not.
  const int scale = bits - 1 - exponent;
  return static_cast<float>(std::ldexp(std::nearbyint(std::ldexp(double{value}, scale)), -scale));
}

std::uint16_t to_half(float value) {
  const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000U : 0U);
  if (std::isnan(value)) return static_cast<std::uint16_t>(sign | 0x7E00U);
  const double size = std::abs(double{round_significand(value, half_bits, half_least)});
  if (size > 65504.0) return static_cast<std::uint16_t>(sign | 0x7C00U);
  if (size < 0x1p-14)
    return static_cast<std::uint16_t>(sign | static_cast<unsigned>(size * 0x1p24));
  const int exponent = std::ilogb(size);
  const auto fraction = static_cast<unsigned>(std::ldexp(size, 10 - exponent)) & 0x3FFU;
  return static_cast<std::uint16_t>(sign | static_cast<unsigned>(exponent + 15) << 10U | fraction);
}

float from_half(std::uint16_t value) {
  const float sign = (value & 0x8000U) != 0 ? -1.0F : 1.0F;
  const int exponent = value >> 10U & 0x1F;
  const auto fraction = static_cast<float>(value & 0x3FFU);
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  if (exponent == 31) {
    const float infinity = std::numeric_limits<float>::infinity();
    return fraction == 0 ? sign * infinity : std::numeric_limits<float>::quiet_NaN();
  }
  return sign * std::ldexp(fraction + 1024.0F, exponent - 25);
}

float rounded(DType dtype, float value) {
  switch (dtype) {
    case DType::f32:
      return value;
    case DType::tf32:
      return round_significand(value, tf32_bits, f32_least);
    case DType::bf16:
      return from_bfloat16(to_bfloat16(value));
    case DType::f16:
      return from_half(to_half(value));
  }
  fail_expectation("a known DType");
}

}  // namespace dlscale::backend
