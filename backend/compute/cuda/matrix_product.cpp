#include "backend/compute/cuda/matrix_product.hpp"

#include <fmt/format.h>

#include <numeric>
#include <utility>

#include "backend/compute/cuda/call.hpp"
#include "backend/compute/cuda/handles.hpp"
#include "core/error.hpp"

namespace dlscale::backend::cuda {
namespace {

/// NVIDIA recommends 32 MiB for Hopper (the cuBLAS manual, cublasSetWorkspace).
constexpr std::size_t workspace_limit = std::size_t{32} << 20;
constexpr int most_algorithms = 16;
/// Buffers begin on at least such a boundary.
constexpr std::uint32_t buffer_alignment = 16;

using MatrixLayout = Owner<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;
using ProductDescriptor = Owner<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>;
using Preference = Owner<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>;

cudaDataType_t data_type(DType dtype) {
  switch (dtype) {
    case DType::f32:
    case DType::tf32:
      return CUDA_R_32F;
    case DType::bf16:
      return CUDA_R_16BF;
    case DType::f16:
      return CUDA_R_16F;
  }
  fail_expectation("a known DType");
}

cublasComputeType_t compute_type(DType dtype) {
  return dtype == DType::tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
}

cublasLtEpilogue_t library_epilogue(Epilogue epilogue) {
  switch (epilogue) {
    case Epilogue::none:
      return CUBLASLT_EPILOGUE_DEFAULT;
    case Epilogue::add_bias:
      return CUBLASLT_EPILOGUE_BIAS;
    case Epilogue::sum_right_columns:
      return CUBLASLT_EPILOGUE_BGRADB;
  }
  fail_expectation("a known Epilogue");
}

template <class T>
void set(const MatrixLayout& layout, cublasLtMatrixLayoutAttribute_t attribute, const T& value,
         const std::string& what) {
  check(cublasLtMatrixLayoutSetAttribute(layout.get(), attribute, &value, sizeof(value)),
        "cublasLtMatrixLayoutSetAttribute", what);
}

MatrixLayout make_layout(const Matrix& matrix, const std::string& what) {
  cublasLtMatrixLayout_t raw = nullptr;
  check(cublasLtMatrixLayoutCreate(&raw, data_type(matrix.dtype),
                                   static_cast<std::uint64_t>(matrix.rows),
                                   static_cast<std::uint64_t>(matrix.columns), matrix.rows),
        "cublasLtMatrixLayoutCreate", what);
  MatrixLayout layout(raw);
  if (matrix.batch == 1) return layout;
  set(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<std::int32_t>(matrix.batch), what);
  set(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, matrix.rows * matrix.columns, what);
  return layout;
}

template <class T>
void set(const ProductDescriptor& product, cublasLtMatmulDescAttributes_t attribute, const T& value,
         const std::string& what) {
  check(cublasLtMatmulDescSetAttribute(product.get(), attribute, &value, sizeof(value)),
        "cublasLtMatmulDescSetAttribute", what);
}

ProductDescriptor make_product(const ProductProblem& problem) {
  cublasLtMatmulDesc_t raw = nullptr;
  check(cublasLtMatmulDescCreate(&raw, compute_type(problem.left.dtype), CUDA_R_32F),
        "cublasLtMatmulDescCreate", problem.what);
  ProductDescriptor product(raw);
  const auto operation = [](Transposed transposed) {
    return transposed == Transposed::yes ? CUBLAS_OP_T : CUBLAS_OP_N;
  };
  set(product, CUBLASLT_MATMUL_DESC_TRANSA, operation(problem.left_transposed), problem.what);
  set(product, CUBLASLT_MATMUL_DESC_TRANSB, operation(problem.right_transposed), problem.what);
  set(product, CUBLASLT_MATMUL_DESC_EPILOGUE, library_epilogue(problem.epilogue), problem.what);
  if (problem.epilogue != Epilogue::none) {
    set(product, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, CUDA_R_32F, problem.what);
  }
  return product;
}

template <class T>
void set(const Preference& preference, cublasLtMatmulPreferenceAttributes_t attribute,
         const T& value, const std::string& what) {
  check(cublasLtMatmulPreferenceSetAttribute(preference.get(), attribute, &value, sizeof(value)),
        "cublasLtMatmulPreferenceSetAttribute", what);
}

Preference make_preference(const ProductProblem& problem) {
  const std::string& what = problem.what;
  cublasLtMatmulPreference_t raw = nullptr;
  check(cublasLtMatmulPreferenceCreate(&raw), "cublasLtMatmulPreferenceCreate", what);
  Preference preference(raw);
  set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace_limit, what);
  // Parts of a sum that are split among blocks are added in f32 and in a fixed order.
  set(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
      std::uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE}, what);
  for (const auto& [attribute, matrix] :
       {std::pair(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, problem.left),
        std::pair(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, problem.right),
        std::pair(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, problem.result),
        std::pair(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, problem.result)}) {
    set(preference, attribute, alignment_of(matrix), what);
  }
  return preference;
}

int setting(const cublasLtMatmulAlgo_t& algorithm, cublasLtMatmulAlgoConfigAttributes_t attribute) {
  std::int32_t value = 0;
  std::size_t written = 0;
  check(
      cublasLtMatmulAlgoConfigGetAttribute(&algorithm, attribute, &value, sizeof(value), &written),
      "cublasLtMatmulAlgoConfigGetAttribute", "an algorithm");
  return value;
}

}  // namespace

ProductProblem problem_of(const GemmShape& shape, DType dtype) {
  const auto& [m, n, k, transpose_a, transpose_b, batch] = shape;
  const auto matrix = [dtype = dtype, batch = batch](std::int64_t rows, std::int64_t columns) {
    return Matrix{columns, rows, dtype, batch};  // what is row-major to us
  };
  const auto transposed = [](bool yes) { return yes ? Transposed::yes : Transposed::no; };
  return {.what = kernel_key(shape) + " in " + std::string(dtype_name(dtype)),
          .left = transpose_b ? matrix(n, k) : matrix(k, n),
          .left_transposed = transposed(transpose_b),
          .right = transpose_a ? matrix(k, m) : matrix(m, k),
          .right_transposed = transposed(transpose_a),
          .result = matrix(m, n)};
}

std::uint32_t alignment_of(const Matrix& matrix) {
  if (matrix.batch == 1) return buffer_alignment;
  const auto bytes =
      static_cast<std::uint64_t>(matrix.rows * matrix.columns) * element_bytes(matrix.dtype);
  return static_cast<std::uint32_t>(std::gcd(bytes, std::uint64_t{buffer_alignment}));
}

struct Product::Descriptors {
  ProductDescriptor product;
  MatrixLayout left;
  MatrixLayout right;
  MatrixLayout result;
};

Product::Product(const Context& context, const ProductProblem& problem)
    : context_(&context),
      problem_(problem),
      descriptors_(std::make_unique<Descriptors>(Descriptors{
          make_product(problem), make_layout(problem.left, problem.what),
          make_layout(problem.right, problem.what), make_layout(problem.result, problem.what)})) {}

Product::~Product() = default;

std::vector<cublasLtMatmulHeuristicResult_t> Product::recommended() const {
  const Preference preference = make_preference(problem_);
  std::vector<cublasLtMatmulHeuristicResult_t> results(most_algorithms);
  int found = 0;
  const auto& [product, left, right, result] = *descriptors_;
  const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
      context_->blas, product.get(), left.get(), right.get(), result.get(), result.get(),
      preference.get(), most_algorithms, results.data(), &found);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) return {};
  check(status, "cublasLtMatmulAlgoGetHeuristic", problem_.what);
  results.resize(static_cast<std::size_t>(found));
  std::erase_if(results, [](const auto& each) { return each.state != CUBLAS_STATUS_SUCCESS; });
  return results;
}

void Product::run(const cublasLtMatmulAlgo_t& algorithm, const void* left, const void* right,
                  void* result, float* bias, std::byte* workspace,
                  std::size_t workspace_bytes) const {
  constexpr float alpha = 1;
  constexpr float beta = 0;
  const Descriptors& used = *descriptors_;
  if (problem_.epilogue != Epilogue::none) {
    set(used.product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias, problem_.what);
  }
  check(cublasLtMatmul(context_->blas, used.product.get(), &alpha, left, used.left.get(), right,
                       used.right.get(), &beta, result, used.result.get(), result,
                       used.result.get(), &algorithm, workspace, workspace_bytes, context_->stream),
        "cublasLtMatmul", problem_.what);
}

std::string describe(const cublasLtMatmulAlgo_t& algorithm, std::size_t workspace_bytes) {
  return fmt::format("cublasLt algo={} tile={} stages={} splitk={} ws={:.1f}MB",
                     setting(algorithm, CUBLASLT_ALGO_CONFIG_ID),
                     setting(algorithm, CUBLASLT_ALGO_CONFIG_TILE_ID),
                     setting(algorithm, CUBLASLT_ALGO_CONFIG_STAGES_ID),
                     setting(algorithm, CUBLASLT_ALGO_CONFIG_SPLITK_NUM),
                     static_cast<double>(workspace_bytes) * 1e-6);
}

}  // namespace dlscale::backend::cuda
