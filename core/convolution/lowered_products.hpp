#pragma once
#include <cstdint>
#include <vector>

#include "core/network/convolution_shape.hpp"
#include "core/network/gemm.hpp"
#include "core/network/step.hpp"

namespace dlscale::lowering {

/// A matrix product that our im2col on processors runs `count` times in a pass.
struct LoweredProduct {
  GemmShape shape;
  std::int64_t count = 0;  ///< number of blocks of that size, times the groups
};

/// Products that one pass runs with one thread, the largest first. C and K are those of a group
/// [MODEL 4, methods]:
///   forward          K × columns = K × CRS · CRS × columns
///   backward_data    CRS × columns = (K × CRS)ᵀ · K × columns
///   backward_filter  K × CRS = K × columns · (CRS × columns)ᵀ, summed over blocks
/// columns: output pixels of a block (pixel_blocks.hpp). `pass` must be one of a convolution.
std::vector<LoweredProduct> lowered_products(const ConvolutionShape& shape, Pass pass);

/// The product if there were one block: columns = N P Q.
GemmShape whole_product(const ConvolutionShape& shape, Pass pass);

}  // namespace dlscale::lowering
