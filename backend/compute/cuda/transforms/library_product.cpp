#include "backend/compute/cuda/transforms/library_product.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <utility>
#include <vector>

#include "backend/compute/cuda/call.hpp"
#include "backend/compute/cuda/handles.hpp"
#include "backend/compute/cuda/matrix_product.hpp"
#include "backend/compute/cuda/transforms/fourier_transform.hpp"
#include "backend/compute/cuda/tuning.hpp"
#include "core/error.hpp"

namespace dlscale::backend::cuda::transforms {
namespace {

/// NVIDIA recommends 32 MiB for Hopper (the cuBLAS manual, cublasSetWorkspace).
constexpr std::size_t workspace_limit = std::size_t{32} << 20;
constexpr int most_algorithms = 8;

using MatrixLayout = Owner<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;
using ProductDescriptor = Owner<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>;
using Preference = Owner<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>;

cudaDataType_t data_type(Number number) {
  return number == Number::real ? CUDA_R_32F : CUDA_C_32F;
}

cublasOperation_t operation(Form form, Number number) {
  if (form == Form::plain) return CUBLAS_OP_N;
  return form == Form::adjoint && number == Number::complex ? CUBLAS_OP_C : CUBLAS_OP_T;
}

template <class T>
void set(const MatrixLayout& layout, cublasLtMatrixLayoutAttribute_t attribute, const T& value,
         const std::string& what) {
  check(cublasLtMatrixLayoutSetAttribute(layout.get(), attribute, &value, sizeof(value)),
        "cublasLtMatrixLayoutSetAttribute", what);
}

MatrixLayout make_layout(const Matrices& matrices, const BatchedProblem& problem) {
  cublasLtMatrixLayout_t raw = nullptr;
  check(cublasLtMatrixLayoutCreate(&raw, data_type(problem.number),
                                   static_cast<std::uint64_t>(matrices.rows),
                                   static_cast<std::uint64_t>(matrices.columns), matrices.leading),
        "cublasLtMatrixLayoutCreate", problem.what);
  MatrixLayout layout(raw);
  set(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<std::int32_t>(problem.count),
      problem.what);
  set(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, matrices.distance, problem.what);
  return layout;
}

template <class T>
void set(const ProductDescriptor& product, cublasLtMatmulDescAttributes_t attribute, const T& value,
         const std::string& what) {
  check(cublasLtMatmulDescSetAttribute(product.get(), attribute, &value, sizeof(value)),
        "cublasLtMatmulDescSetAttribute", what);
}

ProductDescriptor make_product(const BatchedProblem& problem) {
  const cublasComputeType_t compute =
      problem.factors == Factors::f32 ? CUBLAS_COMPUTE_32F : CUBLAS_COMPUTE_32F_FAST_TF32;
  cublasLtMatmulDesc_t raw = nullptr;
  check(cublasLtMatmulDescCreate(&raw, compute, data_type(problem.number)),
        "cublasLtMatmulDescCreate", problem.what);
  ProductDescriptor product(raw);
  set(product, CUBLASLT_MATMUL_DESC_TRANSA, operation(problem.left.form, problem.number),
      problem.what);
  set(product, CUBLASLT_MATMUL_DESC_TRANSB, operation(problem.right.form, problem.number),
      problem.what);
  return product;
}

template <class T>
void set(const Preference& preference, cublasLtMatmulPreferenceAttributes_t attribute,
         const T& value, const std::string& what) {
  check(cublasLtMatmulPreferenceSetAttribute(preference.get(), attribute, &value, sizeof(value)),
        "cublasLtMatmulPreferenceSetAttribute", what);
}

Preference make_preference(const BatchedProblem& problem) {
  cublasLtMatmulPreference_t raw = nullptr;
  check(cublasLtMatmulPreferenceCreate(&raw), "cublasLtMatmulPreferenceCreate", problem.what);
  Preference preference(raw);
  set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace_limit, problem.what);
  // Parts of a sum that are split among blocks are added in f32 and in a fixed order.
  set(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
      std::uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE}, problem.what);
  for (const auto attribute :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
    set(preference, attribute, problem.alignment, problem.what);
  }
  return preference;
}

/// What was found best for a problem.
struct Choice {
  cublasLtMatmulAlgo_t algorithm;
  std::size_t workspace_bytes;
};

/// A problem with the descriptors that cuBLASLt needs for it.
class DescribedProblem {
 public:
  DescribedProblem(const Context& context, BatchedProblem problem)
      : context_(&context),
        problem_(std::move(problem)),
        product_(make_product(problem_)),
        left_(make_layout(problem_.left, problem_)),
        right_(make_layout(problem_.right, problem_)),
        result_(make_layout(problem_.result, problem_)) {}

  [[nodiscard]] const BatchedProblem& problem() const { return problem_; }

  [[nodiscard]] std::vector<Choice> recommended() const {
    const Preference preference = make_preference(problem_);
    std::array<cublasLtMatmulHeuristicResult_t, most_algorithms> found{};
    int count = 0;
    const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
        context_->blas, product_.get(), left_.get(), right_.get(), result_.get(), result_.get(),
        preference.get(), most_algorithms, found.data(), &count);
    if (status == CUBLAS_STATUS_NOT_SUPPORTED) return {};
    check(status, "cublasLtMatmulAlgoGetHeuristic", problem_.what);
    std::vector<Choice> choices;
    for (int i = 0; i < count; ++i) {
      const auto& each = found[static_cast<std::size_t>(i)];
      if (each.state == CUBLAS_STATUS_SUCCESS) choices.push_back({each.algo, each.workspaceSize});
    }
    return choices;
  }

  void run(const Choice& choice, const float* left, const float* right, float* result, Sum sum,
           std::byte* workspace) const {
    constexpr Complex one{1, 0};  // of real numbers, its first part
    constexpr Complex zero{0, 0};
    check(
        cublasLtMatmul(context_->blas, product_.get(), &one, left, left_.get(), right, right_.get(),
                       sum == Sum::add ? &one : &zero, result, result_.get(), result, result_.get(),
                       &choice.algorithm, workspace, choice.workspace_bytes, context_->stream),
        "cublasLtMatmul", problem_.what);
  }

 private:
  const Context* context_;
  BatchedProblem problem_;
  ProductDescriptor product_;
  MatrixLayout left_;
  MatrixLayout right_;
  MatrixLayout result_;
};

DeviceMemory trial_memory(const Context& context, const BatchedProblem& problem,
                          const Matrices& matrices) {
  DeviceMemory memory(static_cast<std::size_t>(problem.count * matrices.distance) *
                      number_bytes(problem.number));
  // Small numbers: zeros would cost less power, so that the clock would be another.
  check(cudaMemsetAsync(memory.get(), 0x3C, memory.bytes(), context.stream), "cudaMemsetAsync",
        problem.what);
  return memory;
}

Choice tune(const Context& context, const DescribedProblem& described) {
  const BatchedProblem& problem = described.problem();
  const std::vector<Choice> choices = described.recommended();
  std::size_t workspace_bytes = 0;
  for (const Choice& each : choices) {
    workspace_bytes = std::max(workspace_bytes, each.workspace_bytes);
  }
  const DeviceMemory left = trial_memory(context, problem, problem.left);
  const DeviceMemory right = trial_memory(context, problem, problem.right);
  const DeviceMemory result = trial_memory(context, problem, problem.result);
  const DeviceMemory workspace(workspace_bytes);
  std::vector<std::function<void()>> runs;
  runs.reserve(choices.size());
  for (const Choice& each : choices) {
    runs.emplace_back([&] {
      described.run(each, reinterpret_cast<const float*>(left.get()),
                    reinterpret_cast<const float*>(right.get()),
                    reinterpret_cast<float*>(result.get()), Sum::set, workspace.get());
    });
  }
  if (const auto best = fastest(context.stream, runs)) return choices[*best];
  throw Unsupported(fmt::format("{}: cuBLASLt {} has no algorithm for products of transforms.",
                                problem.what, cublasLtGetVersion()));
}

std::string key_of(const BatchedProblem& problem) {
  const auto of = [](const Matrices& each) {
    return fmt::format("{}x{} ld{} d{} f{}", each.rows, each.columns, each.leading, each.distance,
                       static_cast<int>(each.form));
  };
  return fmt::format("batched product {} of {} numbers {}, {}, {} to {} aligned {}", problem.count,
                     number_bytes(problem.number), problem.factors == Factors::f32 ? "f32" : "tf32",
                     of(problem.left), of(problem.right), of(problem.result), problem.alignment);
}

class LibraryProduct final : public BatchedProduct {
 public:
  LibraryProduct(const Context& context, const BatchedProblem& problem)
      : described_(context, problem),
        choice_(context.choices->find_or_make<Choice>(key_of(problem), [&] {
          return std::make_shared<const Choice>(tune(context, described_));
        })) {}

  [[nodiscard]] std::string name() const override {
    return cuda::describe(choice_->algorithm, choice_->workspace_bytes);
  }
  [[nodiscard]] std::size_t scratch_bytes() const override { return choice_->workspace_bytes; }

  void run(const float* left, const float* right, float* result, Sum sum,
           std::byte* scratch) const override {
    described_.run(*choice_, left, right, result, sum, scratch);
  }

 private:
  DescribedProblem described_;
  std::shared_ptr<const Choice> choice_;
};

}  // namespace

std::unique_ptr<BatchedProduct> make_library_product(const Context& context,
                                                     const BatchedProblem& problem) {
  return std::make_unique<LibraryProduct>(context, problem);
}

}  // namespace dlscale::backend::cuda::transforms
