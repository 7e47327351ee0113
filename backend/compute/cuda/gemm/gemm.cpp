#include "backend/compute/cuda/gemm/gemm.hpp"

#include "backend/compute/cuda/gemm/matrix_product.hpp"
#include "backend/compute/cuda/gemm/product_tuning.hpp"

namespace dlscale::backend::cuda {
namespace {

class TunedProduct final : public MatrixProduct {
 public:
  TunedProduct(const Context& context, const GemmShape& shape, DType dtype)
      : product_(context, problem_of(shape, dtype)),
        algorithm_(fastest_algorithm(context, product_, most_product_algorithms)) {}

  [[nodiscard]] std::size_t scratch_bytes() const override {
    return algorithm_.choice.workspace_bytes;
  }
  [[nodiscard]] std::string implementation() const override {
    return describe(algorithm_.choice) + algorithm_.remark();
  }

  /// A row-major matrix is its transpose to cuBLAS: B comes first.
  void run(const std::byte* a, const std::byte* b, std::byte* c, std::byte* scratch) override {
    product_.run(algorithm_.choice, {b, a, c}, scratch);
  }

 private:
  Product product_;
  Chosen<ProductAlgorithm> algorithm_;
};

}  // namespace

std::unique_ptr<MatrixProduct> make_matrix_product(const Context& context, const GemmShape& shape,
                                                   DType dtype) {
  return std::make_unique<TunedProduct>(context, shape, dtype);
}

}  // namespace dlscale::backend::cuda
