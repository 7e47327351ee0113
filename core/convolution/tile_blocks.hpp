#pragma once
#include <algorithm>
#include <cstdint>

#include "core/network/convolution_shape.hpp"

/// How Winograd convolution cuts its work, so that its working set fits into the caches and scratch
/// memory does not grow with the batch.
namespace dlscale::convolution {

using Index = std::int64_t;

/// Widest vector of any instruction set. Kernels may write up to most_lanes - 1 elements beyond the
/// last tile of a range (beyond the last filter).
inline constexpr Index most_lanes = 16;

/// Approximate bytes of the transformed tiles of a block, all channels together. A block has at
/// least about `fewest_tiles` tiles, if there are as many: with fewer, reading the transformed
/// filters would dominate.
inline constexpr Index block_bytes = Index{4} << 20;
inline constexpr Index fewest_tiles = 144;

/// Order of the stages.
enum class Schedule {
  staged,  ///< each stage over a block of tiles, by all threads
  fused,   ///< all stages over a block of tiles, each block by one thread
};

/// Approximate bytes of a thread's own block of transformed tiles: half of an L2 of 1 MiB; the rest
/// is for the filters. A block has at least about `fewest_fused_tiles` tiles.
inline constexpr Index fused_block_bytes = Index{512} << 10;
inline constexpr Index fewest_fused_tiles = 32;

/// Approximate bytes of the transformed filters of a block of output channels. A block has at least
/// about `fewest_channels` channels, if there are as many.
inline constexpr Index filter_bytes = Index{4} << 20;
inline constexpr Index fewest_channels = 64;

constexpr Index round_up(Index value, Index unit) {
  return (value + unit - 1) / unit * unit;
}

/// A range cut into blocks of equal size, except for the last.
struct Blocks {
  Index total;
  Index size;

  /// Blocks of about equal size near `aim`, but at least `least`, in multiples of `unit`. No block
  /// is larger than 1.5 times that plus a unit.
  Blocks(Index total_, Index aim, Index least, Index unit) : total(total_) {
    aim = std::max(aim, least);
    const Index blocks = std::max<Index>(1, (total + aim / 2) / aim);
    size = std::min(total, round_up((total + blocks - 1) / blocks, unit));
  }
  [[nodiscard]] Index count() const { return (total + size - 1) / size; }
  [[nodiscard]] Index length(Index first) const { return std::min(size, total - first); }
};

/// A stack of alpha² matrices of rows × columns, whose rows vectors may overrun. Rows and matrices
/// are an odd number of cache lines apart, so that they do not compete for the same few cache sets.
struct Stack {
  Index stride;  ///< elements between rows
  Index size;    ///< elements between matrices
  Index total;   ///< elements

  Stack(Index alpha, Index rows, Index columns)
      : stride((round_up(columns + most_lanes - 1, most_lanes) / most_lanes | 1) * most_lanes),
        size((rows * stride / most_lanes | 1) * most_lanes),
        total(alpha * alpha * size) {}
};

/// The tiles of an image: rows × columns, with m × m outputs each. Tiles are numbered over all
/// images, image by image and row by row.
struct TileGrid {
  Index rows;
  Index columns;
};

constexpr TileGrid tile_grid(Index m, Index out_height, Index out_width) {
  return {(out_height + m - 1) / m, (out_width + m - 1) / m};
}

/// The tiles of all images in blocks. `channels` is the number of planes of transformed tiles held
/// at once. If fused, each of `threads` gets several blocks, given enough tiles.
Blocks tile_blocks(const TileGrid& grid, Index images, Index alpha, Index channels,
                   Schedule schedule, int threads);

/// Counts for transforming the tiles of all images row by row and block by block.
struct TileRuns {
  Index runs;     ///< runs of adjacent tiles in a row of a block
  Index vectors;  ///< vectors of `lanes` tiles within runs
};
TileRuns tile_runs(const TileGrid& grid, const Blocks& blocks, Index lanes);

/// The outputs of a group in blocks; the transformed filters of a block, for `inputs` channels, are
/// held at once.
Blocks output_blocks(Index outputs, Index alpha, Index inputs);

/// Approximate bytes of the transformed tiles of a block on a GPU, inputs and outputs together.
inline constexpr Index device_block_bytes = Index{256} << 20;

/// Blocks of one size; the last one may extend beyond the last tile.
struct EvenBlocks {
  Index size;
  Index count;
};

/// The fewest blocks whose tiles of `tile_bytes` take at most `limit`, but at least `unit` tiles
/// each. Sizes are multiples of `unit`.
EvenBlocks even_blocks(Index tiles, Index tile_bytes, Index unit, Index limit);

/// Floats between rows of a strip of tiles, for runs of up to `longest` tiles.
constexpr Index strip_stride(Index m, Index longest) {
  return ((longest + most_lanes - 1) / most_lanes * most_lanes + 1) * m;
}

/// Elements of working memory in which a thread transforms a row of tiles.
constexpr Index strip_elements(Index m, Index longest) {
  return round_up((m + 3) * strip_stride(m, longest), most_lanes);
}

/// Parts of whole rows into which each of the alpha² products of a block is cut, to keep all
/// threads busy.
Blocks product_parts(Index rows, Index alpha, int threads);

/// Maximum bytes of transformed gradients that backward_filter of a fused Winograd convolution
/// holds; the same limit as for spectra of FFT convolutions.
inline constexpr Index gradient_limit_bytes = Index{384} << 20;

/// Bytes that it would hold for one group: for every thread, α² matrices of `outputs` × `inputs`
/// floats, with the padding of Stack.
Index fused_gradient_bytes(Index outputs, Index inputs, Index alpha, int threads);

}  // namespace dlscale::convolution
