#include "backend/compute/native/convolution/host_product.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <string>

#include "backend/compute/host_gemm.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend::native_device {
namespace {

class HostProduct final : public MatrixProduct {
 public:
  explicit HostProduct(const GemmShape& shape) : shape_(shape) {}

  [[nodiscard]] std::size_t scratch_bytes() const override { return 0; }
  [[nodiscard]] std::string implementation() const override { return std::string(multiply_call); }

  void run(const std::byte* a, const std::byte* b, std::byte* c, std::byte* /*scratch*/) override {
    const auto& [m, n, k, transpose_a, transpose_b, batch] = shape_;
    const auto* left = reinterpret_cast<const float*>(a);
    const auto* right = reinterpret_cast<const float*>(b);
    auto* result = reinterpret_cast<float*>(c);
    for (std::int64_t i = 0; i < batch; ++i) {
      multiply(m, n, k, {left + i * m * k, transpose_a ? m : k, transpose_a},
               {right + i * k * n, transpose_b ? k : n, transpose_b}, result + i * m * n, n);
    }
  }

 private:
  GemmShape shape_;
};

}  // namespace

std::unique_ptr<MatrixProduct> make_host_product(const GemmShape& shape, int threads) {
  EXPECT(shape.m >= 1 && shape.n >= 1 && shape.k >= 1 && shape.batch >= 1);
  if (threads > 1) {
    throw Unsupported(
        fmt::format("a product of native runs on one thread, not on {}: its convolutions run "
                    "several beside one another. Measure with 1 thread.",
                    threads));
  }
  return std::make_unique<HostProduct>(shape);
}

}  // namespace dlscale::backend::native_device
