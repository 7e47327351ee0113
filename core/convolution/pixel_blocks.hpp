#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "core/convolution/tile_blocks.hpp"
#include "core/network/convolution_shape.hpp"

/// How convolutions are turned into matrix products: the blocks, tiles and padded sizes that both
/// our own convolutions and the count of their work follow.
namespace dlscale::lowering {

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
/// images and rows. The first is the largest.
std::vector<PixelBlock> cut_pixels(const ConvolutionShape& shape, std::int64_t columns);

/// About how many columns a matrix of patches has: 4 MiB of them, with the outputs where a block
/// has several images, or 128 where that is more.
std::int64_t patch_columns(const ConvolutionShape& shape);

/// Elements of the matrices in memory at once, for one group.
struct HeldMatrices {
  std::int64_t patches;  ///< C / groups · R · S × columns; none where they are the image
  std::int64_t outputs;  ///< K / groups × columns, of several images; of one they lie in the tensor
};
HeldMatrices held_matrices(const ConvolutionShape& shape, const PixelBlock& block);

/// Neighbouring blocks of the same images, whose patches overlap.
std::vector<std::span<const PixelBlock>> image_parts(std::span<const PixelBlock> blocks);

/// The input channels of a group in ranges, of each of which backward_data makes the gradients of a
/// part apart: with one thread one range, else as many as leave four parts or more for each thread.
/// A range has at least 64 rows of the matrix of patches, or products would be thin, if there are
/// as many.
Blocks channel_ranges(const ConvolutionShape& shape, std::int64_t parts, int threads);

/// The patches of an image are the image.
bool is_pointwise(const ConvolutionShape& shape);

}  // namespace dlscale::lowering
