#include "core/convolution/tile_blocks.hpp"

namespace dlscale::convolution {

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

TileRuns tile_runs(const TileGrid& grid, const Blocks& blocks, Index lanes) {
  TileRuns result{0, 0};
  for (Index first = 0; first < blocks.total;) {
    const Index row_end = (first / grid.columns + 1) * grid.columns;
    const Index block_end = std::min((first / blocks.size + 1) * blocks.size, blocks.total);
    const Index last = std::min(row_end, block_end);
    ++result.runs;
    result.vectors += (last - first + lanes - 1) / lanes;
    first = last;
  }
  return result;
}

Blocks output_blocks(Index outputs, Index alpha, Index inputs) {
  const Index bytes = alpha * alpha * inputs * static_cast<Index>(sizeof(float));
  return {outputs, filter_bytes / bytes, fewest_channels, most_lanes};
}

Index fused_gradient_bytes(Index outputs, Index inputs, Index alpha, int threads) {
  const Blocks blocks = output_blocks(outputs, alpha, inputs);
  return threads * blocks.count() * Stack(alpha, blocks.size, inputs).total *
         static_cast<Index>(sizeof(float));
}

EvenBlocks even_blocks(Index tiles, Index tile_bytes, Index unit, Index limit) {
  const Index most = std::max(unit, limit / tile_bytes);
  const Index blocks = (tiles + most - 1) / most;
  const Index size = round_up((tiles + blocks - 1) / blocks, unit);
  return {size, (tiles + size - 1) / size};
}

Blocks product_parts(Index rows, Index alpha, int threads) {
  const Index products = alpha * alpha;
  const Index parts = std::min((Index{4} * threads + products - 1) / products, (rows + 7) / 8);
  return {rows, (rows + parts - 1) / parts, 1, 1};
}

}  // namespace dlscale::convolution
