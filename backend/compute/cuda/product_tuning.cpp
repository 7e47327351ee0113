#include "backend/compute/cuda/product_tuning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "backend/compute/cuda/call.hpp"
#include "backend/compute/cuda/handles.hpp"
#include "core/error.hpp"

namespace dlscale::backend::cuda {
namespace {

/// Small numbers: zeros would cost less power, so that the clock would be another. Bytes of 3C are
/// 0.012 as f32 and as bf16, and 1.06 as f16.
DeviceMemory trial_memory(const Context& context, const ProductProblem& problem,
                          std::size_t bytes) {
  DeviceMemory memory(bytes);
  check(cudaMemsetAsync(memory.get(), 0x3C, memory.bytes(), context.stream), "cudaMemsetAsync",
        problem.what);
  return memory;
}

std::size_t bytes_of(const Matrix& matrix, Number number) {
  const std::size_t element =
      number == Number::complex ? number_bytes(number) : element_bytes(matrix.dtype);
  return static_cast<std::size_t>(matrix.batch * matrix.distance) * element;
}

std::vector<ProductTrial> trials_of(const Product& product,
                                    const std::vector<ProductAlgorithm>& algorithms) {
  std::vector<ProductTrial> trials;
  trials.reserve(algorithms.size());
  for (const ProductAlgorithm& each : algorithms) {
    trials.push_back(
        {each.workspace_bytes, [&product, each](const ProductMemory& memory, std::byte* scratch) {
           product.run(each, memory, scratch);
         }});
  }
  return trials;
}

std::string text_of(const Matrix& matrix, Transposed transposed) {
  return fmt::format("{}x{} {} batch{} ld{} d{} t{}", matrix.rows, matrix.columns,
                     dtype_name(matrix.dtype), matrix.batch, matrix.leading, matrix.distance,
                     static_cast<int>(transposed));
}

}  // namespace

Fastest fastest_product(const Context& context, const ProductProblem& problem,
                        const std::vector<ProductTrial>& trials) {
  std::size_t scratch_bytes = 0;
  for (const ProductTrial& each : trials) {
    scratch_bytes = std::max(scratch_bytes, each.scratch_bytes);
  }
  const auto memory_of = [&](std::size_t bytes) { return trial_memory(context, problem, bytes); };
  const DeviceMemory left = memory_of(bytes_of(problem.left, problem.number));
  const DeviceMemory right = memory_of(bytes_of(problem.right, problem.number));
  const DeviceMemory result = memory_of(bytes_of(problem.result, problem.number));
  const auto longer = std::max(problem.result.rows, problem.result.columns);
  const DeviceMemory bias = memory_of(static_cast<std::size_t>(longer) * sizeof(float));
  const DeviceMemory scratch(scratch_bytes);
  const ProductMemory memory{left.get(), right.get(), result.get(),
                             reinterpret_cast<float*>(bias.get())};
  std::vector<std::function<void()>> runs;
  runs.reserve(trials.size());
  for (const ProductTrial& each : trials) {
    runs.emplace_back([&] { each.run(memory, scratch.get()); });
  }
  if (const auto best = fastest(context.stream, runs)) return *best;
  throw Unsupported(fmt::format("{}: cuBLASLt {} has no algorithm for this product.", problem.what,
                                cublasLtGetVersion()));
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
    const auto [best, time] = fastest_product(context, problem, trials_of(product, all));
    return {all[best], digits_of(all[best]), time};
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

}  // namespace dlscale::backend::cuda
