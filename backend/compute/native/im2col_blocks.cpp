#include "backend/compute/native/im2col_blocks.hpp"

#include <algorithm>

namespace dlscale::backend::native_device {

std::vector<PixelBlock> cut_pixels(const ConvolutionShape& shape, std::int64_t columns) {
  const std::int64_t rows =
      std::clamp<std::int64_t>(columns / shape.out_width, 1, shape.out_height);
  const std::int64_t pixels = shape.out_height * shape.out_width;
  const std::int64_t images =
      rows < shape.out_height ? 1 : std::clamp<std::int64_t>(columns / pixels, 1, shape.images);
  std::vector<PixelBlock> blocks;
  for (std::int64_t n = 0; n < shape.images; n += images) {
    for (std::int64_t p = 0; p < shape.out_height; p += rows) {
      blocks.push_back(
          {n, std::min(n + images, shape.images), p, std::min(p + rows, shape.out_height)});
    }
  }
  return blocks;
}

}  // namespace dlscale::backend::native_device
