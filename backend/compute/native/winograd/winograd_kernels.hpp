#pragma once
#include <algorithm>
#include <cstdint>

#include "core/convolution/tile_blocks.hpp"

/// The transforms of Winograd convolution, in the processor's best instruction set. They run on the
/// calling thread.
namespace dlscale::backend::native_device::winograd {

using convolution::Index;
using convolution::most_lanes;
using convolution::TileGrid;

/// Tiles first … last - 1.
struct TileRange {
  Index first;
  Index last;
};

/// Tiles side by side in one row of tiles.
struct TileRun {
  Index image;
  Index row;
  Index column;
  Index count;
};

/// The longest run that begins with tiles.first and stays within `tiles`.
inline TileRun first_run(const TileGrid& grid, const TileRange& tiles) {
  const Index line = tiles.first / grid.columns;
  const Index column = tiles.first % grid.columns;
  return {line / grid.rows, line % grid.rows, column,
          std::min(grid.columns - column, tiles.last - tiles.first)};
}

/// The planes height × width of one channel; that of image n is at data + n · image_stride. Tile
/// (i, j) begins at row i · m - pad, column j · m - pad; pixels beyond the edges are zero.
template <class T>
struct Planes {
  T* data;
  Index image_stride;
  Index height;
  Index width;
  Index pad;
};

/// Transforms the tiles of one channel. Element e of alpha² of tile t is written to v[e · stride +
/// t - tiles.first]. `strip` is working memory, alpha + 1 rows of strip_stride(), all zero before
/// the first use.
using ReadTiles = void (*)(const TileGrid& grid, TileRange tiles, const Planes<const float>& planes,
                           float* strip, Index strip_stride, float* v, Index stride);

/// Transforms the products of one channel back and writes the outputs; `pad` is not used.
using WriteTiles = void (*)(const TileGrid& grid, TileRange tiles, const float* products,
                            Index stride, const Planes<float>& planes);

/// Transforms `count` consecutive filters of 3 × 3. Element e of filter c is written to u[e ·
/// stride + c].
using ReadFilters = void (*)(const float* filters, Index count, float* u, Index stride);

/// The reverse, for the gradient of the filters.
using WriteFilters = void (*)(const float* products, Index stride, Index count, float* filters);

/// All transforms of F(m × m, 3 × 3) and F(3 × 3, m × m).
struct Kernels {
  const char* instruction_set;   ///< as Highway names it
  ReadTiles data;                ///< Bᵀ d B of tiles of alpha × alpha
  ReadTiles gradient;            ///< G d Gᵀ of tiles of m × m, G of F(3, m)
  ReadFilters filter;            ///< G g Gᵀ, G of F(m, 3)
  ReadFilters rotated_filter;    ///< the same for the filter turned by half
  WriteTiles output;             ///< Aᵀ z A, A of F(m, 3)
  WriteFilters filter_gradient;  ///< Aᵀ z A, A of F(3, m)
};

/// m is 2, 4 or 6.
Kernels kernels(int m);

}  // namespace dlscale::backend::native_device::winograd
