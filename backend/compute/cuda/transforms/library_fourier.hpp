#pragma once
#include <memory>
#include <string>

#include "backend/compute/cuda/runtime/context.hpp"
#include "backend/compute/cuda/transforms/fourier_transform.hpp"

namespace dlscale::backend::cuda::transforms {

/// Transforms by cuFFT, planned here, with scratch as their workspace. Throws Unsupported if it
/// does not offer them. `context` must outlive the transform.
std::unique_ptr<FourierTransform> make_library_fourier(const Context& context,
                                                       const FourierProblem& problem);

/// Version of the cuFFT that runs: "12.0.0".
std::string fourier_library_version();

}  // namespace dlscale::backend::cuda::transforms
