#pragma once
#include <cstdint>

#include "core/convolution/spectra.hpp"
#include "core/network/step.hpp"

/// Layout of images, filters and results in planes of L × L points for convolutions by FFT. It
/// makes what wraps around meet zeros or unwanted points. One axis at a time; stride 1.
namespace dlscale::backend::image_tiling {

/// One axis of a convolution: pixels of the image, taps of the kernel, pixels of the result.
struct Axis {
  std::int64_t input, kernel, output, pad;
};

/// Layout of one axis of a tensor in the L points of tile t. Plane point at + e holds the tensor's
/// element t · step + shift + e, for e < span, or zero where the tensor has none.
struct Cut {
  std::int64_t extent;  ///< elements of the tensor
  std::int64_t step = 0;
  std::int64_t shift = 0;
  std::int64_t at = 0;
  std::int64_t span = 0;
};

using convolution::Tiling;

/// The cuts of an axis in the three roles: kernel, padded input x and output y, or their gradients.
struct AxisCuts {
  Cut w, x, y;
  std::int64_t tiles;
};

/// Fewest points that hold an axis as one tile: ≥ image + pad, kernel and output.
std::int64_t least_points(const Axis& axis);

/// Requires a `pass` other than accumulate, and L ≥ least_points(), or for overlap_save L ≥ the
/// kernel.
AxisCuts cut(const Axis& axis, Pass pass, std::int64_t L, Tiling tiling);

}  // namespace dlscale::backend::image_tiling
