#pragma once
#include <cstdint>
#include <string_view>

namespace dlscale::backend {

/// A row-major matrix in host memory, or its transpose.
struct Matrix {
  const float* data;
  std::int64_t stride;  ///< elements between rows in memory
  bool transposed = false;
};

/// c = a · b, or c += a · b: a is m × k, b k × n (after transposing), c m × n. `c_stride` is the
/// number of elements between rows of c. Runs on the calling thread only, by the library's fastest
/// kernel (oneDNN, which allocates memory to pack the matrices). Throws LibraryError. Defined in
/// backend/compute/onednn, where the library may be included.
void multiply(std::int64_t m, std::int64_t n, std::int64_t k, const Matrix& a, const Matrix& b,
              float* c, std::int64_t c_stride, bool add = false);

/// The kernel that multiply() calls, in the library's words.
extern const std::string_view multiply_call;

}  // namespace dlscale::backend
