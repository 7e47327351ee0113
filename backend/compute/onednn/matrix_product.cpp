#include "backend/compute/onednn/matrix_product.hpp"

#include <fmt/format.h>

#include <array>

#include "backend/compute/onednn/layout.hpp"
#include "backend/compute/onednn/plan.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend::onednn_device {

namespace {

/// `rows` × `columns` of an operand as it is multiplied; a batch adds a first dimension.
Desc matrix_desc(const GemmShape& shape, std::int64_t rows, std::int64_t columns, bool transposed,
                 DataType type) {
  MemoryDims dims{rows, columns};
  MemoryDims strides = transposed ? MemoryDims{1, rows} : MemoryDims{columns, 1};
  if (shape.batch > 1) {
    dims.insert(dims.begin(), shape.batch);
    strides.insert(strides.begin(), rows * columns);
  }
  return {dims, type, strides};
}

class PrimitiveProduct final : public MatrixProduct {
 public:
  PrimitiveProduct(const Context& context, const GemmShape& shape, DType dtype)
      : threads_(context.threads), what_(kernel_key(shape)), plan_(context) {
    const DataType type = data_type(dtype);
    const Desc a = matrix_desc(shape, shape.m, shape.k, shape.transpose_a, type);
    const Desc b = matrix_desc(shape, shape.k, shape.n, shape.transpose_b, type);
    const Desc c = matrix_desc(shape, shape.m, shape.n, false, type);
    plan_.add(matmul(context.engine, a, b, c), {reads(DNNL_ARG_SRC, {{Role::input, 0}, a}),
                                                reads(DNNL_ARG_WEIGHTS, {{Role::input, 1}, b}),
                                                writes(DNNL_ARG_DST, {{Role::output}, c})});
  }

  [[nodiscard]] std::size_t scratch_bytes() const override { return plan_.scratch_bytes(); }
  [[nodiscard]] std::string implementation() const override { return plan_.implementation(); }

  void run(const std::byte* a, const std::byte* b, std::byte* c, std::byte* scratch) override {
    const ThreadScope scope(threads_);
    // Inputs are only read, but a Tensor is writable.
    const std::array inputs{Tensor{{}, const_cast<std::byte*>(a)},
                            Tensor{{}, const_cast<std::byte*>(b)}};
    Operands operands;
    operands.inputs = inputs;
    operands.output = {{}, c};
    operands.scratch = scratch;
    try {
      plan_.run(operands);
    } catch (const dnnl::error& error) {
      throw LibraryError(fmt::format("{}: oneDNN: {} (status {})", what_, error.what(),
                                     static_cast<int>(error.status)));
    }
  }

 private:
  int threads_;
  std::string what_;
  Plan plan_;
};

}  // namespace

std::unique_ptr<MatrixProduct> make_matrix_product(const Context& context, const GemmShape& shape,
                                                   DType dtype) {
  return std::make_unique<PrimitiveProduct>(context, shape, dtype);
}

}  // namespace dlscale::backend::onednn_device
