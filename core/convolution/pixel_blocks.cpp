#include "core/convolution/pixel_blocks.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>

#include "core/base/error.hpp"

namespace dlscale::convolution {
namespace {

constexpr std::int64_t matrix_elements = (4 << 20) / 4;
constexpr std::int64_t least_columns = 128;

GemmShape product_of(const ConvolutionShape& shape, Pass pass, std::int64_t columns) {
  const std::int64_t outputs = shape.outputs / shape.groups;
  const std::int64_t taps = shape.taps();
  switch (pass) {
    case Pass::forward:
      return {.m = outputs, .n = columns, .k = taps};
    case Pass::backward_data:
      return {.m = taps, .n = columns, .k = outputs, .transpose_a = true};
    case Pass::backward_filter:
      return {.m = outputs, .n = taps, .k = columns, .transpose_b = true};
    case Pass::accumulate:
      break;
  }
  fail_expectation("pass is one of a convolution");
}

}  // namespace

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

std::int64_t patch_columns(const ConvolutionShape& shape) {
  const std::int64_t pixels = shape.out_height * shape.out_width;
  const std::int64_t patches = std::max(least_columns, matrix_elements / shape.taps());
  if (shape.images == 1 || patches < 2 * pixels) return patches;
  const std::int64_t rows = shape.taps() + shape.outputs / shape.groups;
  return std::max({least_columns, matrix_elements / rows, pixels});  // at least one whole image
}

HeldMatrices held_matrices(const ConvolutionShape& shape, const PixelBlock& block) {
  const bool several = block.images() > 1;
  const std::int64_t columns = block.columns(shape);
  return {.patches = several || !is_pointwise(shape) ? shape.taps() * columns : 0,
          .outputs = several ? shape.outputs / shape.groups * columns : 0};
}

std::vector<std::span<const PixelBlock>> image_parts(std::span<const PixelBlock> blocks) {
  std::vector<std::span<const PixelBlock>> parts;
  while (!blocks.empty()) {
    const std::int64_t image = blocks.front().first_image;
    const auto others = std::ranges::find_if(
        blocks, [image](const PixelBlock& block) { return block.first_image != image; });
    const auto count = static_cast<std::size_t>(others - blocks.begin());
    parts.push_back(blocks.first(count));
    blocks = blocks.subspan(count);
  }
  return parts;
}

Blocks channel_ranges(const ConvolutionShape& shape, std::int64_t parts, int threads) {
  constexpr std::int64_t least_rows = 64;
  const std::int64_t channels = shape.channels / shape.groups;
  if (threads == 1) return {channels, channels, 1, 1};
  const std::int64_t wanted =
      (std::int64_t{4} * threads + parts * shape.groups - 1) / (parts * shape.groups);
  const std::int64_t taps = shape.kernel_h * shape.kernel_w;
  return {channels, channels / wanted, (least_rows + taps - 1) / taps, 1};
}

bool is_pointwise(const ConvolutionShape& shape) {
  return shape.kernel_h == 1 && shape.kernel_w == 1 && shape.stride == 1 && shape.pad == 0;
}

std::vector<LoweredProduct> lowered_products(const ConvolutionShape& shape, Pass pass) {
  std::map<std::int64_t, std::int64_t, std::greater<>> blocks;  // columns → number of blocks
  for (const PixelBlock& block : cut_pixels(shape, patch_columns(shape))) {
    ++blocks[block.columns(shape)];
  }
  std::vector<LoweredProduct> products;
  products.reserve(blocks.size());
  for (const auto& [columns, count] : blocks) {
    products.push_back({product_of(shape, pass, columns), count * shape.groups});
  }
  return products;
}

GemmShape whole_product(const ConvolutionShape& shape, Pass pass) {
  return product_of(shape, pass, shape.images * shape.out_height * shape.out_width);
}

}  // namespace dlscale::convolution
