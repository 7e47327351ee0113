#pragma once
#include <cstdint>
#include <vector>

#include "core/network/convolution_shape.hpp"
#include "core/network/gemm.hpp"
#include "core/network/step.hpp"

namespace dlscale::lowering {

/// A matrix product that our im2col on processors runs so many times in a pass.
struct LoweredProduct {
  GemmShape shape;
  std::int64_t count = 0;  ///< blocks of that size, times the groups
};

/// Those that one pass runs with one thread, the largest first, with C and K of a group   [MODEL 4,
/// methods]:
///   forward          K × columns = K × CRS · CRS × columns
///   backward_data    CRS × columns = (K × CRS)ᵀ · K × columns
///   backward_filter  K × CRS = K × columns · (CRS × columns)ᵀ, of later blocks added
/// columns: the output pixels of a block (pixel_blocks.hpp). `pass` is one of a convolution.
std::vector<LoweredProduct> lowered_products(const ConvolutionShape& shape, Pass pass);

/// What they would be in one block: columns = N P Q.
GemmShape whole_product(const ConvolutionShape& shape, Pass pass);

}  // namespace dlscale::lowering
