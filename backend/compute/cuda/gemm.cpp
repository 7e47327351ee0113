#include "backend/compute/cuda/gemm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "backend/compute/cuda/call.hpp"
#include "backend/compute/cuda/handles.hpp"
#include "backend/compute/cuda/matrix_product.hpp"
#include "backend/compute/cuda/tuning.hpp"
#include "core/error.hpp"

namespace dlscale::backend::cuda {
namespace {

/// One algorithm of cuBLASLt for a product.
struct GemmChoice {
  cublasLtMatmulAlgo_t algorithm{};
  std::size_t workspace_bytes = 0;
};

DeviceMemory memory_for(const Context& context, std::int64_t elements, DType dtype) {
  DeviceMemory memory(static_cast<std::size_t>(elements) * element_bytes(dtype));
  // Small numbers: zeros would cost less power, so that the clock would be another.
  check(cudaMemsetAsync(memory.get(), 0x3C, memory.bytes(), context.stream), "cudaMemsetAsync",
        "a matrix");
  return memory;
}

GemmChoice choose(const Context& context, const Product& product, const GemmShape& shape,
                  DType dtype) {
  std::vector<GemmChoice> all;
  std::size_t workspace_bytes = 0;
  for (const auto& result : product.recommended()) {
    all.push_back({result.algo, result.workspaceSize});
    workspace_bytes = std::max(workspace_bytes, result.workspaceSize);
  }
  const DeviceMemory a = memory_for(context, shape.a_elements(), dtype);
  const DeviceMemory b = memory_for(context, shape.b_elements(), dtype);
  const DeviceMemory c = memory_for(context, shape.c_elements(), dtype);
  const DeviceMemory workspace(workspace_bytes);
  std::vector<std::function<void()>> runs;
  runs.reserve(all.size());
  for (const GemmChoice& choice : all) {
    runs.emplace_back([&] {
      product.run(choice.algorithm, b.get(), a.get(), c.get(), nullptr, workspace.get(),
                  choice.workspace_bytes);
    });
  }
  const auto best = fastest(context.stream, runs);
  if (best) return all[*best];
  throw Unsupported(fmt::format("cuBLASLt {} has no algorithm for {} in {}.", cublasLtGetVersion(),
                                kernel_key(shape), dtype_name(dtype)));
}

class TunedProduct final : public MatrixProduct {
 public:
  TunedProduct(const Context& context, const GemmShape& shape, DType dtype)
      : product_(context, problem_of(shape, dtype)) {
    const std::string key = fmt::format("{} {}", kernel_key(shape), dtype_name(dtype));
    choice_ = *context.choices->find_or_make<GemmChoice>(key, [&] {
      return std::make_shared<const GemmChoice>(choose(context, product_, shape, dtype));
    });
  }

  [[nodiscard]] std::size_t scratch_bytes() const override { return choice_.workspace_bytes; }
  [[nodiscard]] std::string implementation() const override {
    return describe(choice_.algorithm, choice_.workspace_bytes);
  }

  void run(const std::byte* a, const std::byte* b, std::byte* c, std::byte* scratch) override {
    product_.run(choice_.algorithm, b, a, c, nullptr, scratch, choice_.workspace_bytes);
  }

 private:
  Product product_;
  GemmChoice choice_;
};

}  // namespace

std::unique_ptr<MatrixProduct> make_matrix_product(const Context& context, const GemmShape& shape,
                                                   DType dtype) {
  return std::make_unique<TunedProduct>(context, shape, dtype);
}

}  // namespace dlscale::backend::cuda
