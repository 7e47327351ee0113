#pragma once
#include <cublasLt.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backend/compute/cuda/gemm/batched_product.hpp"
#include "backend/compute/cuda/runtime/context.hpp"

namespace dlscale::backend::cuda {

using transforms::Number;

/// `batch` matrices of `rows` × `columns` in column-major order, as cuBLAS has them, without gaps
/// unless told otherwise. Distances are in elements.
struct Matrix {
  std::int64_t rows;
  std::int64_t columns;
  DType dtype;
  std::int64_t batch = 1;
  std::int64_t leading = rows;             ///< from column to column
  std::int64_t distance = rows * columns;  ///< from matrix to matrix
};

enum class Transposed {
  no,
  yes,
  conjugated,  ///< transposed and conjugated, of complex numbers
};

/// Buffers begin on at least such a boundary.
constexpr std::uint32_t buffer_alignment = 16;

/// What cuBLAS does to the result beside multiplying.
enum class Epilogue {
  none,
  add_bias,           ///< D += bias, an f32 number for each row
  sum_right_columns,  ///< bias[j] = Σ_k op(B)[k, j], in f32, beside D
};

/// D = op(A) · op(B), sums in f32; tf32: of factors rounded to that.
struct ProductProblem {
  std::string what;  ///< the layer with its shapes, for messages
  Matrix left;
  Transposed left_transposed = Transposed::no;
  Matrix right;
  Transposed right_transposed = Transposed::no;
  Matrix result;
  Epilogue epilogue = Epilogue::none;
  Number number = Number::real;                ///< complex: of pairs of f32
  std::uint32_t alignment = buffer_alignment;  ///< bytes, of the addresses that run() gets
};

/// Whether cuBLASLt has the epilogue for these precisions: the bias, or the sums, which are f32 to
/// us, must have the precision of the result [cublasLt.h, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE].
bool has_epilogue(const ProductProblem& problem);

/// A product of row-major matrices as cuBLAS does it: a row-major matrix is its transpose to it,
/// and Cᵀ = op(B)ᵀ · op(A)ᵀ. So B is `left` and A is `right`.
ProductProblem problem_of(const GemmShape& shape, DType dtype);

/// The boundary in bytes on which every matrix of a batch begins, if the first begins on
/// `first_alignment`.
std::uint32_t alignment_of(const Matrix& matrix, Number number = Number::real,
                           std::uint32_t first_alignment = buffer_alignment);

/// The most memory an algorithm may ask for to work in. NVIDIA recommends 32 MiB for Hopper (the
/// cuBLAS manual, cublasSetWorkspace).
constexpr std::size_t product_workspace_limit = std::size_t{32} << 20;

/// One algorithm of cuBLASLt for a product.
struct ProductAlgorithm {
  cublasLtMatmulAlgo_t algorithm{};
  std::size_t workspace_bytes = 0;
};

/// Where the operands of a product lie.
struct ProductMemory {
  const void* left = nullptr;
  const void* right = nullptr;
  void* result = nullptr;
  float* bias = nullptr;  ///< null without an epilogue
};

/// A problem with the descriptors that cuBLASLt needs for it.
class Product {
 public:
  Product(const Context& context, const ProductProblem& problem);
  ~Product();
  Product(Product&&) noexcept;
  Product& operator=(Product&&) = delete;

  [[nodiscard]] const ProductProblem& problem() const { return problem_; }
  /// What the heuristics of cuBLASLt recommend, best first, at most `most`; empty if it does not
  /// offer the problem, or has_epilogue() says no.
  [[nodiscard]] std::vector<ProductAlgorithm> recommended(int most) const;

  /// Enqueues. `workspace` has as many bytes as the algorithm asks for.
  void run(const ProductAlgorithm& algorithm, const ProductMemory& memory, std::byte* workspace,
           transforms::Sum sum = transforms::Sum::set) const;

 private:
  struct Descriptors;
  const Context* context_;
  ProductProblem problem_;
  std::unique_ptr<Descriptors> descriptors_;
};

/// The whole of the algorithm, which the same version of cuBLASLt takes again, in hexadecimal.
std::string digits_of(const ProductAlgorithm& algorithm);

/// "cublasLt algo=66 tile=20 stages=13 splitk=1 ws=0.0MB"
std::string describe(const ProductAlgorithm& algorithm);

}  // namespace dlscale::backend::cuda
