#pragma once
#include <bit>
#include <cstdint>

#include "backend/compute/bfloat16.hpp"
#include "backend/compute/float16.hpp"
#include "core/run/run.hpp"

namespace dlscale::backend {

/// Rounds a finite number to nearest, ties to even, with `bits` bits of significand (the hidden one
/// included) and an exponent of at least `least`.
float round_significand(float value, int bits, int least);

/// The number of `dtype` nearest to `value`.
float rounded(DType dtype, float value);

}  // namespace dlscale::backend
