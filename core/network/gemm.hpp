#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/network/step.hpp"
#include "core/run/run.hpp"

namespace dlscale {

/// A matrix product C = op(A) · op(B), row-major and dense: op(A) is m × k, op(B) is k × n, C is m
/// × n; all sizes ≥ 1. A transposed operand is stored as k × m, or n × k.
struct GemmShape {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  bool transpose_a = false;
  bool transpose_b = false;
  /// Number of products in one call, each with its own matrices, which are contiguous.
  std::int64_t batch = 1;
  bool operator==(const GemmShape&) const = default;

  // Elements of all matrices of one operand.
  [[nodiscard]] std::int64_t a_elements() const { return batch * m * k; }
  [[nodiscard]] std::int64_t b_elements() const { return batch * k * n; }
  [[nodiscard]] std::int64_t c_elements() const { return batch * m * n; }
};

/// "gemm m16 n1760 k1760 ta0 tb1", then " batch96" if there are several.
std::string kernel_key(const GemmShape& shape);

/// 2 m n k operations per product; every operand is moved once, C is only written. C has `dtype`
/// too.
Work work(const GemmShape& shape, DType dtype);

/// Parses "16x1760x1760", m x n x k. Optional: ":nt", the transposed operands (n: no, t: yes; A
/// first), and ":b96", 96 products at once. Sizes are integers from 1 to 2^20. Throws ConfigError,
/// which starts with `where`.
GemmShape parse_gemm_shape(std::string_view text, std::string_view where);

/// The distinct products of configs/shapes/<name>.yaml, or of the file of that path, in the order
/// of the file. A file names other lists (which must not name any themselves) or holds products.
/// Throws ConfigError.
std::vector<GemmShape> load_gemm_shapes(std::string_view name);

}  // namespace dlscale
