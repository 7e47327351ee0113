#pragma once
#include <cstdint>
#include <string_view>

namespace dlscale::backend {

/// A row-major matrix in host memory, or its transpose.
struct Matrix {
  const float* data;
  std::int64_t stride;  ///< elements from row to row as it lies in memory
  bool transposed = false;
};

/// c = a · b, or c += a · b: a is m × k, b k × n (after transposing), c m × n with `c_stride`
/// elements from row to row. On the calling thread only, by the library's fastest kernel (oneDNN,
/// which allocates what it packs the matrices into). Throws LibraryError. Defined in
/// backend/compute/onednn, where the library may be included.
void multiply(std::int64_t m, std::int64_t n, std::int64_t k, const Matrix& a, const Matrix& b,
              float* c, std::int64_t c_stride, bool add = false);

/// What multiply() calls, in the library's words.
extern const std::string_view multiply_call;

}  // namespace dlscale::backend
