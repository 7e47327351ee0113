#pragma once
#include <cublasLt.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "backend/compute/compute.hpp"
#include "backend/compute/cuda/gemm/batched_product.hpp"
#include "backend/compute/cuda/runtime/context.hpp"

namespace dlscale::backend::cuda {

using transforms::Number;

/// `batch` matrices of `rows` × `columns` in column-major order, as in cuBLAS, without gaps by
/// default. Distances are in elements.
struct Matrix {
  std::int64_t rows;
  std::int64_t columns;
  DType dtype;
  std::int64_t batch = 1;
  std::int64_t leading = rows;             ///< distance between columns
  std::int64_t distance = rows * columns;  ///< distance between matrices
};

enum class Transposed {
  no,
  yes,
  conjugated,  ///< transposed and conjugated, for complex numbers
};

/// Least alignment of all buffers, in bytes.
constexpr std::uint32_t buffer_alignment = 16;

/// Operation that cuBLAS fuses into the multiplication.
enum class Epilogue {
  none,
  add_bias,           ///< D += bias, an f32 number for each row
  sum_right_columns,  ///< bias[j] = Σ_k op(B)[k, j], in f32, beside D
};

/// D = op(A) · op(B) with sums in f32; tf32: the factors are rounded to it.
struct ProductProblem {
  std::string what;  ///< the layer with its shapes, for messages
  Matrix left;
  Transposed left_transposed = Transposed::no;
  Matrix right;
  Transposed right_transposed = Transposed::no;
  Matrix result;
  Epilogue epilogue = Epilogue::none;
  Number number = Number::real;                ///< complex: pairs of f32
  std::uint32_t alignment = buffer_alignment;  ///< in bytes, of the addresses passed to run()
};

/// Whether cuBLASLt has the epilogue for these precisions. The bias, or the sums, which are f32
/// here, must have the precision of the result [cublasLt.h, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE].
bool has_epilogue(const ProductProblem& problem);

/// Expresses a product of row-major matrices in cuBLAS's column-major terms: it sees each matrix
/// transposed, and Cᵀ = op(B)ᵀ · op(A)ᵀ. So B is `left` and A is `right`.
ProductProblem problem_of(const GemmShape& shape, DType dtype);

/// Alignment in bytes of every matrix of a batch whose first matrix has `first_alignment`.
std::uint32_t alignment_of(const Matrix& matrix, Number number = Number::real,
                           std::uint32_t first_alignment = buffer_alignment);

/// Most workspace memory of an algorithm. NVIDIA recommends 32 MiB for Hopper (the cuBLAS manual,
/// cublasSetWorkspace).
constexpr std::size_t product_workspace_limit = std::size_t{32} << 20;

/// One algorithm of cuBLASLt for a product.
struct ProductAlgorithm {
  cublasLtMatmulAlgo_t algorithm{};
  std::size_t workspace_bytes = 0;
};

/// Addresses of the operands of a product.
struct ProductMemory {
  const void* left = nullptr;
  const void* right = nullptr;
  void* result = nullptr;
  float* bias = nullptr;  ///< null without an epilogue
};

/// A problem with its cuBLASLt descriptors.
class Product {
 public:
  Product(const Context& context, const ProductProblem& problem);
  ~Product();
  Product(Product&&) noexcept;
  Product& operator=(Product&&) = delete;

  [[nodiscard]] const ProductProblem& problem() const { return problem_; }
  /// The algorithm that cuBLASLt's heuristics recommend first. Nothing if it does not offer the
  /// problem, or has_epilogue() is false.
  [[nodiscard]] std::optional<ProductAlgorithm> find_algorithm() const;
  /// The same. Throws Unsupported where there is none.
  [[nodiscard]] ProductAlgorithm algorithm() const;

  /// Enqueues the product. `workspace` has the size that the algorithm requires.
  void run(const ProductAlgorithm& algorithm, const ProductMemory& memory, std::byte* workspace,
           transforms::Sum sum = transforms::Sum::set) const;

 private:
  struct Descriptors;
  const Context* context_;
  ProductProblem problem_;
  std::unique_ptr<Descriptors> descriptors_;
};

/// "cublasLt algo=66 tile=20 stages=13 splitk=1 ws=0.0MB"
std::string describe(const ProductAlgorithm& algorithm);

/// A product of row-major matrices. `context` outlives it. Throws Unsupported where cuBLASLt offers
/// none.
std::unique_ptr<MatrixProduct> make_matrix_product(const Context& context, const GemmShape& shape,
                                                   DType dtype);

}  // namespace dlscale::backend::cuda
