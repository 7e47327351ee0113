#include "backend/compute/precision.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/error.hpp"

namespace dlscale::backend {
namespace {

constexpr int tf32_bits = 11;
constexpr int f32_least = -126;

}  // namespace

float round_significand(float value, int bits, int least) {
  if (!std::isfinite(value) || value == 0.0F) return value;
  const int exponent = std::max(std::ilogb(value), least);
  // nearbyint rounds to nearest, ties to even, unless the program changes the mode, which it does
  // not.
  const int scale = bits - 1 - exponent;
  return static_cast<float>(std::ldexp(std::nearbyint(std::ldexp(double{value}, scale)), -scale));
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
