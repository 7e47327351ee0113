#pragma once
#include <algorithm>
#include <cstdint>

#include "core/network/convolution_shape.hpp"

/// How Winograd convolution cuts its work, so that what it works on fits into the caches and
/// scratch does not grow with the batch.
namespace dlscale::lowering {

using Index = std::int64_t;

/// Widest vector of any instruction set. Kernels may write up to this many elements, less one,
/// beyond the last tile of a range (beyond the last filter).
inline constexpr Index most_lanes = 16;

/// About what the transformed tiles of a block take, of all channels together; but a block has
/// about `fewest_tiles` tiles, if there are as many: with few, the time would go into reading the
/// transformed filters.
inline constexpr Index block_bytes = Index{4} << 20;
inline constexpr Index fewest_tiles = 144;

/// How the stages follow one another.
enum class Schedule {
  staged,  ///< each over a block of tiles, by all threads
  fused,   ///< all over a block of tiles, each block by one thread
};

/// About what the transformed tiles of a block take that a thread has for itself: half of an L2 of
/// 1 MiB; the rest is for the filters. But a block has about `fewest_fused_tiles`.
inline constexpr Index fused_block_bytes = Index{512} << 10;
inline constexpr Index fewest_fused_tiles = 32;

/// About what the transformed filters of a block of output channels take; but a block has about
/// `fewest_channels` channels, if there are as many.
inline constexpr Index filter_bytes = Index{4} << 20;
inline constexpr Index fewest_channels = 64;

constexpr Index round_up(Index value, Index unit) {
  return (value + unit - 1) / unit * unit;
}

/// A range cut into blocks of equal size, but for the last.
struct Blocks {
  Index total;
  Index size;

  /// Blocks of about equal size near `aim`, but not less than `least`, multiples of `unit`; none
  /// is larger than one and a half of that and a unit.
  Blocks(Index total_, Index aim, Index least, Index unit) : total(total_) {
    aim = std::max(aim, least);
    const Index blocks = std::max<Index>(1, (total + aim / 2) / aim);
    size = std::min(total, round_up((total + blocks - 1) / blocks, unit));
  }
  [[nodiscard]] Index count() const { return (total + size - 1) / size; }
  [[nodiscard]] Index length(Index first) const { return std::min(size, total - first); }
};

/// A stack of alpha² matrices of rows × columns, whose rows vectors may overrun. An odd number of
/// cache lines from row to row and from matrix to matrix keeps them from competing for the same few
/// sets of a cache.
struct Stack {
  Index stride;  ///< elements from row to row
  Index size;    ///< elements from matrix to matrix
  Index total;   ///< elements

  Stack(Index alpha, Index rows, Index columns)
      : stride((round_up(columns + most_lanes - 1, most_lanes) / most_lanes | 1) * most_lanes),
        size((rows * stride / most_lanes | 1) * most_lanes),
        total(alpha * alpha * size) {}
};

/// The tiles of an image: rows × columns, of m × m outputs each. Tiles are counted over all images,
/// image by image and row by row.
struct TileGrid {
  Index rows;
  Index columns;
};

constexpr TileGrid tile_grid(Index m, Index out_height, Index out_width) {
  return {(out_height + m - 1) / m, (out_width + m - 1) / m};
}

/// The tiles of all images in blocks. `channels`: how many planes of transformed tiles are held at
/// once. Fused, there are several blocks for each of `threads` where there are tiles enough.
Blocks tile_blocks(const TileGrid& grid, Index images, Index alpha, Index channels,
                   Schedule schedule, int threads);

/// What the tiles of all images become when they are transformed row by row and block by block.
struct TileRuns {
  Index runs;     ///< neighbouring tiles of a row of a block
  Index vectors;  ///< of `lanes` tiles of a run
};
TileRuns tile_runs(const TileGrid& grid, const Blocks& blocks, Index lanes);

/// The outputs of a group in blocks whose transformed filters, of `inputs` channels, are held at
/// once.
Blocks output_blocks(Index outputs, Index alpha, Index inputs);

/// About what the transformed tiles of a block take on a GPU, of inputs and outputs together.
inline constexpr Index device_block_bytes = Index{256} << 20;

/// Tiles in blocks of one size; of the last, tiles may be beyond the end.
struct EvenBlocks {
  Index size;
  Index count;
};

/// The fewest blocks whose tiles of `tile_bytes` take no more than `limit`, or `unit` tiles where
/// those take more; sizes are multiples of `unit`.
EvenBlocks even_blocks(Index tiles, Index tile_bytes, Index unit, Index limit);

/// Floats from one row of a strip of tiles to the next, for runs of up to `longest` tiles.
constexpr Index strip_stride(Index m, Index longest) {
  return ((longest + most_lanes - 1) / most_lanes * most_lanes + 1) * m;
}

/// Elements of working memory in which a thread transforms a row of tiles.
constexpr Index strip_elements(Index m, Index longest) {
  return round_up((m + 3) * strip_stride(m, longest), most_lanes);
}

/// In how many parts of whole rows each of the alpha² products of a block is cut, to keep all
/// threads busy.
Blocks product_parts(Index rows, Index alpha, int threads);

}  // namespace dlscale::lowering
