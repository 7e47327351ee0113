#include "backend/compute/cuda/gemm/product_tuning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>

#include "backend/compute/cuda/cudnn/examination.hpp"
#include "backend/compute/cuda/gemm/matrix_product.hpp"
#include "backend/compute/cuda/runtime/handles.hpp"
#include "backend/compute/cuda/runtime/noise.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend::cuda {
namespace {

DeviceMemory trial_memory(const Context& context, std::size_t bytes, DType dtype,
                          std::uint64_t seed) {
  DeviceMemory memory(bytes);
  fill_with_noise(context.stream, memory.get(), bytes, dtype, seed);
  return memory;
}

std::size_t bytes_of(const Matrix& matrix, Number number) {
  const std::size_t element =
      number == Number::complex ? number_bytes(number) : element_bytes(matrix.dtype);
  return static_cast<std::size_t>(matrix.batch * matrix.distance) * element;
}

ProductCandidates candidates_of(const Product& product,
                                const std::vector<ProductAlgorithm>& algorithms) {
  ProductCandidates candidates;
  for (const ProductAlgorithm& each : algorithms) {
    candidates.trials.push_back({describe(each), each.workspace_bytes,
                                 [&product, each](const ProductMemory& memory, std::byte* scratch) {
                                   product.run(each, memory, scratch);
                                 }});
  }
  return candidates;
}

std::string text_of(const Matrix& matrix, Transposed transposed) {
  return fmt::format("{}x{} {} batch{} ld{} d{} t{}", matrix.rows, matrix.columns,
                     dtype_name(matrix.dtype), matrix.batch, matrix.leading, matrix.distance,
                     static_cast<int>(transposed));
}

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

ProductVerdict fastest_product(const Context& context, const ProductProblem& problem,
                               const ProductCandidates& candidates) {
  std::size_t scratch_bytes = 0;
  for (const ProductTrial& each : candidates.trials) {
    scratch_bytes = std::max(scratch_bytes, each.scratch_bytes);
  }
  std::uint64_t seed = 0;
  const auto memory_of = [&](const Matrix& matrix) {
    return trial_memory(context, bytes_of(matrix, problem.number), matrix.dtype, ++seed);
  };
  const DeviceMemory left = memory_of(problem.left);
  const DeviceMemory right = memory_of(problem.right);
  const DeviceMemory result = memory_of(problem.result);
  const auto longer =
      static_cast<std::size_t>(std::max(problem.result.rows, problem.result.columns));
  const DeviceMemory bias = trial_memory(context, longer * sizeof(float), DType::f32, ++seed);
  const DeviceMemory scratch(scratch_bytes);
  const ProductMemory memory{left.get(), right.get(), result.get(),
                             reinterpret_cast<float*>(bias.get())};
  const DType dtype = problem.result.dtype;
  Candidates timed{
      .runs = {},
      .names = {},
      .written = {{"result", result.get(), result.bytes() / element_bytes(dtype), dtype}},
      .dtype = problem.left.dtype,
      .plain = candidates.plain};
  if (candidates.bias_sums > 0) {
    timed.written.push_back({"bias gradient", bias.get(), candidates.bias_sums, DType::f32});
  }
  for (const ProductTrial& each : candidates.trials) {
    timed.runs.emplace_back([&] { each.run(memory, scratch.get()); });
    timed.names.push_back(each.name);
  }
  Examination examination(context, timed);
  const auto best =
      fastest(context.stream, timed.runs, [&](std::size_t way) { return examination.passes(way); });
  if (best) return {*best, examination.note()};
  throw Unsupported(fmt::format("{}: cuBLASLt {} has no algorithm for this product{}{}.",
                                problem.what, cublasLtGetVersion(),
                                examination.note().empty() ? "" : ": ", examination.note()));
}

Chosen<ProductAlgorithm> fastest_algorithm(const Context& context, const Product& product,
                                           int most) {
  const ProductProblem& problem = product.problem();
  const auto recall = [&](const KeptChoice& kept) -> std::optional<ProductAlgorithm> {
    for (const ProductAlgorithm& each : product.recommended(most)) {
      if (digits_of(each) == kept.name) return each;
    }
    return std::nullopt;
  };
  const auto choose = [&]() -> Trialled<ProductAlgorithm> {
    const std::vector<ProductAlgorithm> all = product.recommended(most);
    const auto [best, note] = fastest_product(context, problem, candidates_of(product, all));
    const ProductAlgorithm& chosen = all[best.index];
    return {chosen, digits_of(chosen), best.time, {}, note};
  };
  const std::string key = fmt::format("{} of {}", key_of(problem), most);
  return *context.choices->recall_or_choose<ProductAlgorithm>(key, recall, choose);
}

std::string key_of(const ProductProblem& problem) {
  return fmt::format(
      "product {} by {} to {} of {} numbers epilogue{} aligned{} in {}",
      text_of(problem.left, problem.left_transposed),
      text_of(problem.right, problem.right_transposed), text_of(problem.result, Transposed::no),
      problem.number == Number::complex ? "complex" : "real", static_cast<int>(problem.epilogue),
      problem.alignment, product_workspace_limit);
}

std::unique_ptr<MatrixProduct> make_matrix_product(const Context& context, const GemmShape& shape,
                                                   DType dtype) {
  return std::make_unique<TunedProduct>(context, shape, dtype);
}

}  // namespace dlscale::backend::cuda
