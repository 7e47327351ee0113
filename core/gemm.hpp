#pragma once
#include <cstdint>

#include "core/run.hpp"

namespace dlscale {

/// A matrix product C = op(A) · op(B), row-major and dense: op(A) is m × k, op(B) is k × n, C is
/// m × n; all sizes ≥ 1. A transposed operand lies in memory as k × m, or n × k.
struct GemmShape {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  bool transpose_a = false;
  bool transpose_b = false;
  bool operator==(const GemmShape&) const = default;
};

}  // namespace dlscale
