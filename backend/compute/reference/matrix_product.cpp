#include "backend/compute/reference/matrix_product.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/error.hpp"

namespace dlscale::backend::reference_loops {

namespace {

using Index = std::int64_t;

/// c[i,j] = Σ_p a[i,p] · b[p,j], in double.
class MatrixLoops final : public MatrixProduct {
 public:
  explicit MatrixLoops(const GemmShape& shape) : shape_(shape) {}

  [[nodiscard]] std::size_t scratch_bytes() const override { return 0; }
  [[nodiscard]] std::string implementation() const override { return "loops"; }

  void run(const std::byte* a, const std::byte* b, std::byte* c, std::byte* /*scratch*/) override {
    const auto& [m, n, k, transpose_a, transpose_b, batch] = shape_;
    for (Index i = 0; i < batch; ++i) {
      multiply(reinterpret_cast<const float*>(a) + i * m * k, rows_of_b(b, i),
               reinterpret_cast<float*>(c) + i * m * n);
    }
  }

 private:
  /// The rows of op(B), which are the inner loop, so that sums of different columns are
  /// independent.
  [[nodiscard]] const float* rows_of_b(const std::byte* b, Index which) {
    const auto [n, k] = std::pair(shape_.n, shape_.k);
    const float* values = reinterpret_cast<const float*>(b) + which * k * n;
    if (!shape_.transpose_b) return values;
    turned_.resize(static_cast<std::size_t>(k * n));
    constexpr Index strip = 16;  // as many numbers as a cache line has
    for (Index first = 0; first < n; first += strip) {
      const Index end = std::min(first + strip, n);
      for (Index p = 0; p < k; ++p) {
        for (Index j = first; j < end; ++j) turned_[p * n + j] = values[j * k + p];
      }
    }
    return turned_.data();
  }

  void multiply(const float* a, const float* b, float* c) {
    const auto& [m, n, k, transpose_a, transpose_b, batch] = shape_;
    const Index row = transpose_a ? 1 : k;
    const Index column = transpose_a ? m : 1;
    for (Index i = 0; i < m; ++i) {
      sums_.assign(static_cast<std::size_t>(n), 0);
      for (Index p = 0; p < k; ++p) {
        const double factor = a[i * row + p * column];
        for (Index j = 0; j < n; ++j) sums_[j] += factor * double{b[p * n + j]};
      }
      for (Index j = 0; j < n; ++j) c[i * n + j] = static_cast<float>(sums_[j]);
    }
  }

  GemmShape shape_;
  std::vector<float> turned_;
  std::vector<double> sums_;
};

}  // namespace

std::unique_ptr<MatrixProduct> make_matrix_product(const GemmShape& shape) {
  EXPECT(shape.m >= 1 && shape.n >= 1 && shape.k >= 1 && shape.batch >= 1);
  return std::make_unique<MatrixLoops>(shape);
}

}  // namespace dlscale::backend::reference_loops
