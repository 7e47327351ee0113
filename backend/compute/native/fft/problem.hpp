#pragma once
#include <cstdint>

#include "backend/compute/image_tiling.hpp"
#include "backend/compute/native/convolution.hpp"
#include "backend/compute/native/fft/fourier_transform.hpp"

/// A pass of a convolution as products of spectra: at every frequency, conj(Â)ᵀ · B̂ (a correlation)
/// or Âᵀ · B̂ (a convolution), with matrices Â of q × i and B̂ of q × j.
///
///   pass             q          i  j          Â   B̂   product       result
///   forward          C          K  tiles × N  w   x   correlation   y
///   backward_data    K          C  tiles × N  w   dy  convolution   dx
///   backward_filter  tiles × N  K  C          dy  x   correlation   dw
namespace dlscale::backend::native_device::spectral {

using image_tiling::Cut, image_tiling::Tiling;

/// The tiles of an image, along a column and along a row.
struct Tiles {
  std::int64_t y = 1;
  std::int64_t x = 1;
  [[nodiscard]] std::int64_t count() const { return y * x; }
};

/// A tensor as a matrix of planes; strides are in elements between planes.
struct Planes {
  std::int64_t rows, row_stride;
  std::int64_t lanes, lane_stride;
  std::int64_t group_stride;  ///< between the first planes of consecutive groups
  Cut y, x;
  Tiles row_tiles, lane_tiles;  ///< row = tile · rows + row of the tensor, likewise lanes

  [[nodiscard]] std::int64_t all_rows() const { return row_tiles.count() * rows; }
  [[nodiscard]] std::int64_t all_lanes() const { return lane_tiles.count() * lanes; }
  /// Where plane (row, lane), tiles counted in, lies in the tensor of a group.
  template <class Float>
  [[nodiscard]] Window<Float> window(Float* tensor, std::int64_t row, std::int64_t lane) const;
};

enum class Product { correlation, convolution };

struct Problem {
  std::int64_t L = 0;
  std::int64_t groups = 1;
  Product product = Product::correlation;
  Planes a{}, b{}, result{};
};

/// L × L points that hold a whole image: the least power of two, from 4, that is ≥ image + pad and
/// ≥ kernel and outputs, each way. What wraps around then meets zeros or results that are not
/// wanted.
std::int64_t points_for_whole(const ConvolutionShape& shape);

/// `pass` is not accumulate; stride is 1; L is points_for_whole or more, or ≥ the kernel.
Problem make_problem(const ConvolutionShape& shape, Pass pass, std::int64_t L, Tiling tiling);

/// Floating-point operations: 2.5 L² log2 L² a plane and 8 a complex multiply-add.
double operations(const Problem& problem);

}  // namespace dlscale::backend::native_device::spectral
