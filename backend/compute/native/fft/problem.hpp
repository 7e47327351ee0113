#pragma once
#include <cstdint>

#include "backend/compute/check/image_tiling.hpp"
#include "backend/compute/native/convolution/convolution.hpp"
#include "backend/compute/native/fft/fourier_transform.hpp"
#include "core/convolution/spectra.hpp"

/// A pass of a convolution as products of spectra. At every frequency it computes conj(Â)ᵀ · B̂ (a
/// correlation) or Âᵀ · B̂ (a convolution), with matrices Â of q × i and B̂ of q × j.
///
///   pass             q          i  j          Â   B̂   product       result
///   forward          C          K  tiles × N  w   x   correlation   y
///   backward_data    K          C  tiles × N  w   dy  convolution   dx
///   backward_filter  tiles × N  K  C          dy  x   correlation   dw
namespace dlscale::backend::native_device::spectral {

using image_tiling::Cut, image_tiling::Tiling;

/// Number of tiles of an image, along a column and along a row.
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
  /// Window of plane (row, lane), with tiles counted in, in the tensor of a group.
  template <class Float>
  [[nodiscard]] Window<Float> window(Float* tensor, std::int64_t row, std::int64_t lane) const;
};

enum class Product { correlation, convolution };

struct Problem {
  std::int64_t L = 0;
  std::int64_t groups = 1;
  Product product = Product::correlation;
  Planes a{}, b{}, result{};
  bool filters_in_a = false;  ///< whether Â is of the filters, not of a gradient
  [[nodiscard]] convolution::SpectralSizes sizes() const {
    return {L, groups, a.all_rows(), a.all_lanes(), b.all_lanes()};
  }
};

/// Requires a `pass` other than accumulate, stride 1, and L ≥ convolution::points_for_whole or ≥
/// the kernel. overlap_save has as many tiles as convolution::spectral_sizes says.
Problem make_problem(const ConvolutionShape& shape, Pass pass, std::int64_t L, Tiling tiling);

}  // namespace dlscale::backend::native_device::spectral
