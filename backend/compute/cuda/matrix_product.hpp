#pragma once
#include <cublasLt.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backend/compute/cuda/context.hpp"

namespace dlscale::backend::cuda {

/// A matrix of `rows` × `columns` in column-major order without gaps, as cuBLAS has them, or
/// `batch` of them one after the other.
struct Matrix {
  std::int64_t rows;
  std::int64_t columns;
  DType dtype;
  std::int64_t batch = 1;
};

enum class Transposed { no, yes };

/// What cuBLAS does to the result beside multiplying.
enum class Epilogue {
  none,
  add_bias,           ///< D += bias, an f32 number for each row
  sum_right_columns,  ///< bias[j] = Σ_k op(B)[k, j], in f32, beside D
};

/// D = op(A) · op(B), sums in f32.
struct ProductProblem {
  std::string what;  ///< the layer with its shapes, for messages
  Matrix left;
  Transposed left_transposed = Transposed::no;
  Matrix right;
  Transposed right_transposed = Transposed::no;
  Matrix result;
  Epilogue epilogue = Epilogue::none;
};

/// A product of row-major matrices as cuBLAS does it: a row-major matrix is its transpose to it,
/// and Cᵀ = op(B)ᵀ · op(A)ᵀ. So B is `left` and A is `right`.
ProductProblem problem_of(const GemmShape& shape, DType dtype);

/// The boundary in bytes, at most that of a buffer, on which every matrix of a batch begins.
std::uint32_t alignment_of(const Matrix& matrix);

/// A problem with the descriptors that cuBLASLt needs for it.
class Product {
 public:
  Product(const Context& context, const ProductProblem& problem);
  ~Product();
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;

  /// What the heuristics of cuBLASLt recommend, best first; empty if it does not offer the problem.
  [[nodiscard]] std::vector<cublasLtMatmulHeuristicResult_t> recommended() const;

  /// Enqueues. `workspace` has as many bytes as the algorithm was recommended with; `bias` is null
  /// without an epilogue.
  void run(const cublasLtMatmulAlgo_t& algorithm, const void* left, const void* right, void* result,
           float* bias, std::byte* workspace, std::size_t workspace_bytes) const;

 private:
  struct Descriptors;
  const Context* context_;
  ProductProblem problem_;
  std::unique_ptr<Descriptors> descriptors_;
};

/// "cublasLt algo=66 tile=20 stages=13 splitk=1 ws=0.0MB"
std::string describe(const cublasLtMatmulAlgo_t& algorithm, std::size_t workspace_bytes);

}  // namespace dlscale::backend::cuda
