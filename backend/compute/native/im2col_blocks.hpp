#pragma once
#include <cstdint>
#include <vector>

#include "backend/compute/native/convolution.hpp"

namespace dlscale::backend::native_device {

/// Output pixels that become one matrix: some rows of one image, or all rows of several.
struct PixelBlock {
  std::int64_t first_image, last_image;
  std::int64_t first_row, last_row;
  [[nodiscard]] std::int64_t images() const { return last_image - first_image; }
  [[nodiscard]] std::int64_t columns(const ConvolutionShape& shape) const {
    return images() * (last_row - first_row) * shape.out_width;
  }
};

/// Cuts all output pixels into blocks of about `columns`, at least one row each, in the order of
/// images and rows.
std::vector<PixelBlock> cut_pixels(const ConvolutionShape& shape, std::int64_t columns);

}  // namespace dlscale::backend::native_device
