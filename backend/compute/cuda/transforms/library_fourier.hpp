#pragma once
#include <memory>
#include <string>

#include "backend/compute/cuda/gemm/batched_product.hpp"
#include "backend/compute/cuda/runtime/context.hpp"
#include "backend/compute/cuda/transforms/fourier_transform.hpp"

namespace dlscale::backend::cuda::transforms {

/// Transforms by cuFFT, planned here, with scratch as their workspace. Throws Unsupported if it
/// does not offer them. `context` must outlive the transform.
std::unique_ptr<FourierTransform> make_library_fourier(const Context& context,
                                                       const FourierProblem& problem);

/// Version of the cuFFT that runs: "12.0.0".
std::string fourier_library_version();

/// Products by cuBLASLt, with the algorithm that its heuristics recommend first. Throws Unsupported
/// if it offers none. `context` must outlive the product.
std::unique_ptr<BatchedProduct> make_library_product(const Context& context,
                                                     const BatchedProblem& problem);

}  // namespace dlscale::backend::cuda::transforms
