#pragma once
#include <cstdint>
#include <string>

#include "backend/compute/cuda/convolution_problem.hpp"
#include "backend/compute/cuda/transforms/batched_product.hpp"
#include "backend/compute/image_tiling.hpp"
#include "core/step.hpp"

namespace dlscale::backend::cuda::transforms {

/// Tensors as a pass lays them into planes, along a column and along a row.
struct TensorCut {
  Dims dims{};  ///< images (or filters), channels, height, width
  image_tiling::Cut y{}, x{};
};

/// A pass as products of spectra of L × L points.
struct SpectralShape {
  Pass pass;
  std::int64_t L;
  std::int64_t tile_rows, tile_columns;  ///< of an image
  TensorCut weights, input, output;
  DType dtype;

  [[nodiscard]] std::int64_t tiles() const { return input.dims[0] * tile_rows * tile_columns; }
};

/// The most points each way of a transform of whole images.
constexpr std::int64_t most_points = 256;

/// One transform per image. Both throw Unsupported for what they are not for, naming the property.
SpectralShape whole_shape(const ConvolutionProblem& problem, Pass pass);

/// Overlapping tiles (overlap-save) of 8, 16 or 32 points each way, whichever need the fewest
/// operations, or one tile where it holds the whole image.
SpectralShape tiled_shape(const ConvolutionProblem& problem, Pass pass);

/// Rounded to tf32, the factors make the answer err by up to 1.8e-3 of its root mean square; in
/// f32, by 4e-7 (normally distributed values, up to 192 channels).
Factors spectral_factors(DType dtype);

/// Floating-point operations of a pass: 2.5 L² log2 L² a plane and 8 a complex multiply-add.
double spectral_operations(const SpectralShape& shape);

}  // namespace dlscale::backend::cuda::transforms
