#pragma once
#include <cstdint>

#include "core/convolution/spectra.hpp"
#include "core/network/step.hpp"

/// How convolutions by FFT lay images, filters and results into planes of L points each way, so
/// that what wraps around meets zeros or points that are not wanted. One axis at a time; stride 1.
namespace dlscale::backend::image_tiling {

/// One axis of a convolution: pixels of the image, taps of the kernel, pixels of the result.
struct Axis {
  std::int64_t input, kernel, output, pad;
};

/// How one axis of a tensor is laid into the L points of tile t: plane point at + e holds the
/// tensor's element t · step + shift + e, for e < span, where the tensor has one (else zero).
struct Cut {
  std::int64_t extent;  ///< elements of the tensor
  std::int64_t step = 0;
  std::int64_t shift = 0;
  std::int64_t at = 0;
  std::int64_t span = 0;
};

using lowering::Tiling;

/// The cuts of an axis in the three roles: kernel, padded input x and output y, or their gradients.
struct AxisCuts {
  Cut w, x, y;
  std::int64_t tiles;
};

/// The fewest points that hold an axis as one tile: ≥ image + pad, kernel and output.
std::int64_t least_points(const Axis& axis);

/// `pass` is not accumulate; L is least_points() or more, or of overlap_save ≥ the kernel.
AxisCuts cut(const Axis& axis, Pass pass, std::int64_t L, Tiling tiling);

}  // namespace dlscale::backend::image_tiling
