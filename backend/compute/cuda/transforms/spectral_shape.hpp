#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "backend/compute/check/image_tiling.hpp"
#include "backend/compute/cuda/convolution/convolution_problem.hpp"
#include "backend/compute/cuda/gemm/batched_product.hpp"
#include "backend/compute/cuda/transforms/fourier_transform.hpp"
#include "backend/compute/cuda/transforms/transformed_convolution.hpp"
#include "core/network/step.hpp"

namespace dlscale::backend::cuda {
struct Context;
}  // namespace dlscale::backend::cuda

namespace dlscale::backend::cuda::transforms {

/// A tensor as a pass cuts it into planes, along columns and along rows.
struct TensorCut {
  Dims dims{};  ///< images (or filters), channels, height, width
  image_tiling::Cut y{}, x{};
};

/// A pass as products of spectra of L × L points.
struct SpectralShape {
  Pass pass;
  std::int64_t L;
  image_tiling::Tiling tiling;
  std::int64_t tile_rows, tile_columns;  ///< per image
  TensorCut weights, input, output;
  DType dtype;

  [[nodiscard]] std::int64_t tiles() const { return input.dims[0] * tile_rows * tile_columns; }
};

/// One transform per image, of at most convolution::max_transform_points each way. Both functions
/// throw Unsupported, naming the property, for problems that they do not support.
SpectralShape whole_shape(const ConvolutionProblem& problem, Pass pass);

/// Overlapping tiles (overlap-save), or one tile where it holds the whole image, as
/// convolution::choose_tile() chooses them.
SpectralShape tiled_shape(const ConvolutionProblem& problem, Pass pass);

/// Precision of the factors. Rounding them to tf32 makes the answer err by up to 1.8e-3 of its root
/// mean square; f32, by 4e-7 (normally distributed values, up to 192 channels).
Factors spectral_factors(DType dtype);

/// Floating-point operations of a pass, as convolution::operations() counts them.
double spectral_operations(const ConvolutionProblem& problem, const SpectralShape& shape);

/// The transforms with kernels on the stream of `context`, which must outlive them. Throws
/// Unsupported as make_spectral() does.
std::unique_ptr<const Transforms> spectral_on_device(const Context& context,
                                                     const ConvolutionProblem& problem, Pass pass,
                                                     image_tiling::Tiling tiling,
                                                     const MakeFourier& make);

}  // namespace dlscale::backend::cuda::transforms
