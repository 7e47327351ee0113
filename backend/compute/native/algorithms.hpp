#pragma once
#include <span>
#include <string_view>

#include "backend/compute/native/convolution/convolution.hpp"

namespace dlscale::backend::native_device {

/// All our own algorithms, whose work core/convolution knows. The first takes any shape.
std::span<const ConvolutionAlgorithm* const> own_algorithms();

/// Our own algorithms and those by the libraries that were built in.
std::span<const ConvolutionAlgorithm* const> all_algorithms();

/// The algorithm that create() uses for a pass:
///   - Winograd F(4x4,3x3) for 3 x 3 filters on 16 channels or more, or F(2x2,3x3) where F(4x4,3x3)
///     has 64 tiles or fewer
///   - tiled FFT for filters of 7 x 7 and more on as many channels
///   - im2col otherwise, and where the choice refuses a shape
/// It is a rule of thumb, the same for all passes, processors and numbers of threads; `dlscale
/// choose` measures.
const ConvolutionAlgorithm& usual_algorithm(const ConvolutionShape& shape);

}  // namespace dlscale::backend::native_device
