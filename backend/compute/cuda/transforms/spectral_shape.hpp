#pragma once
#include <cstdint>
#include <string>

#include "backend/compute/cuda/convolution_problem.hpp"
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

  [[nodiscard]] std::int64_t tiles() const { return input.dims[0] * tile_rows * tile_columns; }
};

/// The most points each way of a transform of whole images.
constexpr std::int64_t most_points = 256;

/// One transform per image. Both throw Unsupported for what they are not for, naming the property.
SpectralShape whole_shape(const ConvolutionProblem& problem, Pass pass);

/// Overlapping tiles (overlap-save) of 8, 16 or 32 points each way, whichever need the fewest
/// operations, or one tile where it holds the whole image.
SpectralShape tiled_shape(const ConvolutionProblem& problem, Pass pass);

/// Floating-point operations of the transforms: 2.5 L² log2 L² a plane.
double transform_operations(const SpectralShape& shape);

}  // namespace dlscale::backend::cuda::transforms
