#pragma once
#include <algorithm>
#include <cstdint>
#include <span>

#include "backend/compute/native/fft/fourier_transform.hpp"

namespace dlscale::backend::native_device::spectral {

/// Number of planes that a library transforms at once: as many as our own transform takes in the
/// widest vectors.
inline constexpr std::int64_t B = max_transform_batch;

/// Calls visit(pixel, its place) for all pixels of the windows of at most B planes. Pixel (y, x) of
/// plane b has the place (y · L + x) · B + b. Libraries transform from and to this memory, as their
/// plans are for one layout only.
template <class Float, class Visit>
void for_pixels(std::span<const Window<Float>> planes, std::int64_t L, const Visit& visit) {
  std::int64_t b = 0;
  for (const Window<Float>& plane : planes) {
    for (std::int64_t y = 0; y < plane.rows; ++y) {
      Float* row = plane.pixels + y * plane.row_stride;
      const std::int64_t at = ((plane.top + y) * L + plane.left) * B + b;
      for (std::int64_t x = 0; x < plane.columns; ++x) visit(row[x], at + x * B);
    }
    ++b;
  }
}

/// Fills all L · L · B places of `pixels` from the planes, with 0 where they are
/// empty.
inline void fill_pixels(std::span<const Source> planes, std::int64_t L, float* pixels) {
  std::fill_n(pixels, L * L * B, 0.0F);
  for_pixels(planes, L, [pixels](const float& pixel, std::int64_t at) { pixels[at] = pixel; });
}

}  // namespace dlscale::backend::native_device::spectral
