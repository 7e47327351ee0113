#pragma once
#include <memory>

#include "backend/compute/check/image_tiling.hpp"
#include "backend/compute/cuda/runtime/context.hpp"
#include "backend/compute/cuda/transforms/fourier_transform.hpp"
#include "backend/compute/cuda/transforms/transformed_convolution.hpp"

namespace dlscale::backend::cuda::transforms {

/// The transforms with kernels on the stream of `context`, which must outlive them. They throw
/// Unsupported as make_winograd() and make_spectral() do. m is 2 or 4.
template <int m>
std::unique_ptr<const Transforms> winograd_on_device(const Context& context,
                                                     const ConvolutionProblem& problem, Pass pass);
std::unique_ptr<const Transforms> spectral_on_device(const Context& context,
                                                     const ConvolutionProblem& problem, Pass pass,
                                                     image_tiling::Tiling tiling,
                                                     const MakeFourier& make);

}  // namespace dlscale::backend::cuda::transforms
