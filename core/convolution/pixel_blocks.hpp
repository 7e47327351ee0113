#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "core/convolution/tile_blocks.hpp"
#include "core/network/convolution_shape.hpp"
#include "core/network/gemm.hpp"
#include "core/network/step.hpp"

/// How convolutions become matrix products: the blocks, tiles and padded sizes that both our own
/// convolutions and the count of their work use.
namespace dlscale::convolution {

/// Output pixels that become one matrix: some rows of one image, or all rows of several.
struct PixelBlock {
  std::int64_t first_image, last_image;
  std::int64_t first_row, last_row;
  [[nodiscard]] std::int64_t images() const { return last_image - first_image; }
  [[nodiscard]] std::int64_t columns(const ConvolutionShape& shape) const {
    return images() * (last_row - first_row) * shape.out_width;
  }
};

/// Cuts all output pixels into blocks of about `columns` pixels, each of at least one row, in the
/// order of images and rows. The first is the largest.
std::vector<PixelBlock> cut_pixels(const ConvolutionShape& shape, std::int64_t columns);

/// Approximate number of columns of a matrix of patches: 4 MiB of them, with the outputs if a block
/// has several images, but at least 128.
std::int64_t patch_columns(const ConvolutionShape& shape);

/// Elements of the matrices held in memory at once, for one group.
struct HeldMatrices {
  std::int64_t patches;  ///< C / groups · R · S × columns; none if they are the image
  /// K / groups × columns, for several images; for one image they are in the tensor
  std::int64_t outputs;
};
HeldMatrices held_matrices(const ConvolutionShape& shape, const PixelBlock& block);

/// Groups of adjacent blocks of the same images, whose patches overlap.
std::vector<std::span<const PixelBlock>> image_parts(std::span<const PixelBlock> blocks);

/// Ranges of the input channels of a group; backward_data computes the gradients of a part for each
/// range separately. With one thread there is one range, else enough to leave at least four parts
/// per thread. A range has at least 64 rows of the matrix of patches, if there are as many, or
/// products would be thin.
Blocks channel_ranges(const ConvolutionShape& shape, std::int64_t parts, int threads);

/// Whether the patches of an image are the image itself.
bool is_pointwise(const ConvolutionShape& shape);

/// A matrix product that our im2col on processors runs `count` times in a pass.
struct LoweredProduct {
  GemmShape shape;
  std::int64_t count = 0;  ///< number of blocks of that size, times the groups
};

/// Products that one pass runs with one thread, the largest first. C and K are those of a
/// group:
///   forward          K × columns = K × CRS · CRS × columns
///   backward_data    CRS × columns = (K × CRS)ᵀ · K × columns
///   backward_filter  K × CRS = K × columns · (CRS × columns)ᵀ, summed over blocks
/// columns: output pixels of a block (pixel_blocks.hpp). `pass` must be one of a convolution.
std::vector<LoweredProduct> lowered_products(const ConvolutionShape& shape, Pass pass);

/// The product if there were one block: columns = N P Q.
GemmShape whole_product(const ConvolutionShape& shape, Pass pass);

}  // namespace dlscale::convolution
