#include "backend/compute/cuda/gemm/matrix_product.hpp"

#include <fmt/format.h>

#include <array>
#include <numeric>
#include <span>
#include <utility>

#include "backend/compute/cuda/runtime/call.hpp"
#include "backend/compute/cuda/runtime/handles.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend::cuda {
namespace {

using MatrixLayout = Owner<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;
using ProductDescriptor = Owner<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>;
using Preference = Owner<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>;

cudaDataType_t data_type(DType dtype, Number number) {
  if (number == Number::complex) return CUDA_C_32F;
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

cublasOperation_t library_operation(Transposed transposed) {
  switch (transposed) {
    case Transposed::no:
      return CUBLAS_OP_N;
    case Transposed::yes:
      return CUBLAS_OP_T;
    case Transposed::conjugated:
      return CUBLAS_OP_C;
  }
  fail_expectation("a known Transposed");
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

MatrixLayout make_layout(const Matrix& matrix, const ProductProblem& problem) {
  const std::string& what = problem.what;
  cublasLtMatrixLayout_t raw = nullptr;
  check(cublasLtMatrixLayoutCreate(&raw, data_type(matrix.dtype, problem.number),
                                   static_cast<std::uint64_t>(matrix.rows),
                                   static_cast<std::uint64_t>(matrix.columns), matrix.leading),
        "cublasLtMatrixLayoutCreate", what);
  MatrixLayout layout(raw);
  if (matrix.batch == 1) return layout;
  set(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<std::int32_t>(matrix.batch), what);
  set(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, matrix.distance, what);
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
  check(cublasLtMatmulDescCreate(&raw, compute_type(problem.left.dtype),
                                 data_type(DType::f32, problem.number)),
        "cublasLtMatmulDescCreate", problem.what);
  ProductDescriptor product(raw);
  set(product, CUBLASLT_MATMUL_DESC_TRANSA, library_operation(problem.left_transposed),
      problem.what);
  set(product, CUBLASLT_MATMUL_DESC_TRANSB, library_operation(problem.right_transposed),
      problem.what);
  set(product, CUBLASLT_MATMUL_DESC_EPILOGUE, library_epilogue(problem.epilogue), problem.what);
  if (problem.epilogue != Epilogue::none) {
    set(product, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, CUDA_R_32F, problem.what);
    // The heuristics take the alignment from the address; run() sets the true one.
    // NOLINTNEXTLINE(performance-no-int-to-ptr): an address that is not read
    auto* const bias = reinterpret_cast<float*>(std::uintptr_t{problem.alignment});
    set(product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias, problem.what);
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
  set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, product_workspace_limit, what);
  // Partial sums that are split among blocks are added in f32 and in a fixed order.
  set(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
      std::uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE}, what);
  for (const auto& [attribute, matrix] :
       {std::pair(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, problem.left),
        std::pair(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, problem.right),
        std::pair(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, problem.result),
        std::pair(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, problem.result)}) {
    set(preference, attribute, alignment_of(matrix, problem.number, problem.alignment), what);
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

/// A row-major matrix is its transpose to cuBLAS: B comes first.
class RowMajorProduct final : public MatrixProduct {
 public:
  RowMajorProduct(const Context& context, const GemmShape& shape, DType dtype)
      : product_(context, problem_of(shape, dtype)), algorithm_(product_.algorithm()) {}

  [[nodiscard]] std::size_t scratch_bytes() const override { return algorithm_.workspace_bytes; }
  [[nodiscard]] std::string implementation() const override { return describe(algorithm_); }
  void run(const std::byte* a, const std::byte* b, std::byte* c, std::byte* scratch) override {
    product_.run(algorithm_, {b, a, c}, scratch);
  }

 private:
  Product product_;
  ProductAlgorithm algorithm_;
};

}  // namespace

ProductProblem problem_of(const GemmShape& shape, DType dtype) {
  const auto& [m, n, k, transpose_a, transpose_b, batch] = shape;
  const auto matrix = [dtype = dtype, batch = batch](std::int64_t rows, std::int64_t columns) {
    return Matrix{columns, rows, dtype, batch};  // our row-major is its transpose
  };
  const auto transposed = [](bool yes) { return yes ? Transposed::yes : Transposed::no; };
  return {.what = kernel_key(shape) + " in " + std::string(dtype_name(dtype)),
          .left = transpose_b ? matrix(n, k) : matrix(k, n),
          .left_transposed = transposed(transpose_b),
          .right = transpose_a ? matrix(k, m) : matrix(m, k),
          .right_transposed = transposed(transpose_a),
          .result = matrix(m, n)};
}

bool has_epilogue(const ProductProblem& problem) {
  return problem.epilogue == Epilogue::none || element_bytes(problem.result.dtype) == sizeof(float);
}

std::uint32_t alignment_of(const Matrix& matrix, Number number, std::uint32_t first_alignment) {
  if (matrix.batch == 1) return first_alignment;
  const std::size_t element =
      number == Number::complex ? number_bytes(number) : element_bytes(matrix.dtype);
  const auto bytes = static_cast<std::uint64_t>(matrix.distance) * element;
  return static_cast<std::uint32_t>(std::gcd(bytes, std::uint64_t{first_alignment}));
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
          make_product(problem), make_layout(problem.left, problem),
          make_layout(problem.right, problem), make_layout(problem.result, problem)})) {}

Product::~Product() = default;
Product::Product(Product&&) noexcept = default;

std::optional<ProductAlgorithm> Product::find_algorithm() const {
  if (!has_epilogue(problem_)) return std::nullopt;
  constexpr int most = 8;  // some of those recommended may be refused
  const Preference preference = make_preference(problem_);
  std::array<cublasLtMatmulHeuristicResult_t, most> results{};
  int found = 0;
  const auto& [product, left, right, result] = *descriptors_;
  const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
      context_->blas, product.get(), left.get(), right.get(), result.get(), result.get(),
      preference.get(), most, results.data(), &found);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) return std::nullopt;
  check(status, "cublasLtMatmulAlgoGetHeuristic", problem_.what);
  for (const auto& each : std::span(results).first(static_cast<std::size_t>(found))) {
    if (each.state == CUBLAS_STATUS_SUCCESS) return ProductAlgorithm{each.algo, each.workspaceSize};
  }
  return std::nullopt;
}

ProductAlgorithm Product::algorithm() const {
  if (const auto found = find_algorithm()) return *found;
  throw Unsupported(fmt::format("{}: cuBLASLt {} has no algorithm for this product.", problem_.what,
                                cublasLtGetVersion()));
}

void Product::run(const ProductAlgorithm& algorithm, const ProductMemory& memory,
                  std::byte* workspace, transforms::Sum sum) const {
  constexpr std::array one{1.0F, 0.0F};  // real numbers use the first part
  constexpr std::array zero{0.0F, 0.0F};
  const Descriptors& used = *descriptors_;
  if (problem_.epilogue != Epilogue::none) {
    set(used.product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, memory.bias, problem_.what);
  }
  check(cublasLtMatmul(context_->blas, used.product.get(), one.data(), memory.left, used.left.get(),
                       memory.right, used.right.get(),
                       (sum == transforms::Sum::add ? one : zero).data(), memory.result,
                       used.result.get(), memory.result, used.result.get(), &algorithm.algorithm,
                       workspace, algorithm.workspace_bytes, context_->stream),
        "cublasLtMatmul", problem_.what);
}

std::string describe(const ProductAlgorithm& algorithm) {
  return fmt::format("cublasLt algo={} tile={} stages={} splitk={} ws={:.1f}MB",
                     setting(algorithm.algorithm, CUBLASLT_ALGO_CONFIG_ID),
                     setting(algorithm.algorithm, CUBLASLT_ALGO_CONFIG_TILE_ID),
                     setting(algorithm.algorithm, CUBLASLT_ALGO_CONFIG_STAGES_ID),
                     setting(algorithm.algorithm, CUBLASLT_ALGO_CONFIG_SPLITK_NUM),
                     static_cast<double>(algorithm.workspace_bytes) * 1e-6);
}

std::unique_ptr<MatrixProduct> make_matrix_product(const Context& context, const GemmShape& shape,
                                                   DType dtype) {
  return std::make_unique<RowMajorProduct>(context, shape, dtype);
}

}  // namespace dlscale::backend::cuda
