#include "backend/compute/cuda/transforms/library_product.hpp"

#include "backend/compute/cuda/gemm/matrix_product.hpp"
#include "backend/compute/cuda/gemm/product_tuning.hpp"

namespace dlscale::backend::cuda::transforms {
namespace {

constexpr int most_algorithms = 8;

Transposed transposed(Form form, Number number) {
  if (form == Form::plain) return Transposed::no;
  return form == Form::adjoint && number == Number::complex ? Transposed::conjugated
                                                            : Transposed::yes;
}

ProductProblem problem_of(const BatchedProblem& problem) {
  const DType dtype = problem.factors == Factors::f32 ? DType::f32 : DType::tf32;
  const auto matrix = [&](const Matrices& of) {
    return Matrix{of.rows, of.columns, dtype, problem.count, of.leading, of.distance};
  };
  return {.what = problem.what,
          .left = matrix(problem.left),
          .left_transposed = transposed(problem.left.form, problem.number),
          .right = matrix(problem.right),
          .right_transposed = transposed(problem.right.form, problem.number),
          .result = matrix(problem.result),
          .number = problem.number,
          .alignment = problem.alignment};
}

class LibraryProduct final : public BatchedProduct {
 public:
  LibraryProduct(const Context& context, const BatchedProblem& problem)
      : product_(context, problem_of(problem)),
        algorithm_(fastest_algorithm(context, product_, most_algorithms)) {}

  [[nodiscard]] std::string name() const override {
    return cuda::describe(algorithm_.choice) + algorithm_.remark();
  }
  [[nodiscard]] std::size_t scratch_bytes() const override {
    return algorithm_.choice.workspace_bytes;
  }

  void run(const float* left, const float* right, float* result, Sum sum,
           std::byte* scratch) const override {
    product_.run(algorithm_.choice, {left, right, result}, scratch, sum);
  }

 private:
  Product product_;
  Chosen<ProductAlgorithm> algorithm_;
};

}  // namespace

std::unique_ptr<BatchedProduct> make_library_product(const Context& context,
                                                     const BatchedProblem& problem) {
  return std::make_unique<LibraryProduct>(context, problem);
}

}  // namespace dlscale::backend::cuda::transforms
