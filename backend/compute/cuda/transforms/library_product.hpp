#pragma once
#include "backend/compute/cuda/gemm/batched_product.hpp"
#include "backend/compute/cuda/runtime/context.hpp"

namespace dlscale::backend::cuda::transforms {

/// Products by cuBLASLt, with the fastest of the algorithms that its heuristics recommend, by trial
/// on the device. Throws Unsupported if it offers none. `context` must outlive the product.
std::unique_ptr<BatchedProduct> make_library_product(const Context& context,
                                                     const BatchedProblem& problem);

}  // namespace dlscale::backend::cuda::transforms
