#include "core/convolution/lowered_products.hpp"

#include <functional>
#include <map>

#include "core/base/error.hpp"
#include "core/convolution/pixel_blocks.hpp"

namespace dlscale::lowering {
namespace {

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

}  // namespace dlscale::lowering
