#include "core/lowering/tile_blocks.hpp"

namespace dlscale::lowering {

Blocks tile_blocks(const TileGrid& grid, Index images, Index alpha, Index channels,
                   Schedule schedule, int threads) {
  const Index tile_bytes = alpha * alpha * channels * static_cast<Index>(sizeof(float));
  const Index tiles = images * grid.rows * grid.columns;
  if (schedule == Schedule::staged) {
    return {tiles, block_bytes / tile_bytes, fewest_tiles, most_lanes};
  }
  const Index share = tiles / (Index{4} * threads);
  return {tiles, std::min(fused_block_bytes / tile_bytes, share), fewest_fused_tiles, most_lanes};
}

Blocks output_blocks(Index outputs, Index alpha, Index inputs) {
  const Index bytes = alpha * alpha * inputs * static_cast<Index>(sizeof(float));
  return {outputs, filter_bytes / bytes, fewest_channels, most_lanes};
}

Blocks product_parts(Index rows, Index alpha, int threads) {
  const Index products = alpha * alpha;
  const Index parts = std::min((Index{4} * threads + products - 1) / products, (rows + 7) / 8);
  return {rows, (rows + parts - 1) / parts, 1, 1};
}

}  // namespace dlscale::lowering
