#pragma once
#include <cstdint>

#include "backend/compute/cuda/runtime/host_device_code.hpp"
#include "backend/compute/cuda/transforms/images.hpp"
#include "backend/compute/winograd_matrices.hpp"

/// The transforms of Winograd convolution. Each thread takes one tile of one channel, or one
/// filter, and holds it in registers. Consecutive threads take neighbouring channels (nhwc) or
/// tiles (nchw), and so read and write contiguous memory. Transformed numbers are f32.
namespace dlscale::backend::cuda::transforms {

// The matrices of Winograd's algorithm as code: every coefficient is a constant of an instruction,
// and terms with 0 are left out.

/// Bᵀ, for tiles of alpha × alpha.
template <int alpha>
struct DataMatrix {
  static constexpr int rows = alpha;
  static constexpr int columns = alpha;
  static constexpr float at(int row, int column) {
    return static_cast<float>(minimal_filtering::data_matrix<alpha>()[row][column].value());
  }
};

/// G of F(m, r).
template <int m, int r>
struct FilterMatrix {
  static constexpr int rows = m + r - 1;
  static constexpr int columns = r;
  static constexpr float at(int row, int column) {
    return static_cast<float>(minimal_filtering::filter_matrix<m, r>()[row][column].value());
  }
};

/// Aᵀ of F(m, r).
template <int m, int r>
struct OutputMatrix {
  static constexpr int rows = m;
  static constexpr int columns = m + r - 1;
  static constexpr float at(int row, int column) {
    return static_cast<float>(minimal_filtering::output_matrix<m, r>()[row][column].value());
  }
};

/// Whether M[row][first], M[row][first + 1], … are all 0.
template <class M, int row, int first>
constexpr bool vanishes() {
  for (int column = first; column < M::columns; ++column) {
    if (M::at(row, column) != 0) return false;
  }
  return true;
}

/// Σ M[row][column] · x[column] over column = first, first + 1, …
template <class M, int row, int first = 0>
DLSCALE_HOST_DEVICE float row_times(const float (&x)[M::columns]) {
  constexpr float c = M::at(row, first);
  if constexpr (vanishes<M, row, first + 1>()) {
    return c * x[first];
  } else if constexpr (c == 0) {
    return row_times<M, row, first + 1>(x);
  } else {
    return c * x[first] + row_times<M, row, first + 1>(x);
  }
}

/// y = M x.
template <class M, int row = 0>
DLSCALE_HOST_DEVICE void times(const float (&x)[M::columns], float (&y)[M::rows]) {
  y[row] = row_times<M, row>(x);
  if constexpr (row + 1 < M::rows) times<M, row + 1>(x, y);
}

/// Y = M X Mᵀ.
template <class M>
DLSCALE_HOST_DEVICE void both_sides(const float (&x)[M::columns][M::columns],
                                    float (&y)[M::rows][M::rows]) {
  float halfway[M::rows][M::columns];
  DLSCALE_UNROLL
  for (int j = 0; j < M::columns; ++j) {
    float column[M::columns];
    DLSCALE_UNROLL
    for (int i = 0; i < M::columns; ++i) column[i] = x[i][j];
    float result[M::rows];
    times<M>(column, result);
    DLSCALE_UNROLL
    for (int i = 0; i < M::rows; ++i) halfway[i][j] = result[i];
  }
  DLSCALE_UNROLL
  for (int i = 0; i < M::rows; ++i) times<M>(halfway[i], y[i]);
}

/// The tiles of m × m outputs of all images, image by image and row by row. Tile (i, j) begins at
/// row i · m - pad, column j · m - pad of its image.
struct TileGrid {
  Divisor per_image;
  Divisor columns;
  std::int32_t images;
  std::int32_t step;  ///< m
  std::int32_t pad;   ///< may be negative
};

/// A transformed block of tiles × channels. Element (tile, channel) of matrix e is at e · tiles ·
/// channels + place, where place counts channels fastest in nhwc order, and tiles fastest in nchw
/// order.
template <Order order>
struct Block {
  Divisor fast;  ///< nhwc: channels; nchw: tiles
  std::int64_t size;
  std::uint32_t first;  ///< first tile

  Block(std::int64_t tiles, std::int64_t channels, std::int64_t first_tile)
      : fast(order == Order::nhwc ? channels : tiles),
        size(tiles * channels),
        first(static_cast<std::uint32_t>(first_tile)) {}

  struct Item {
    std::uint32_t tile;
    std::int32_t channel;
  };
  [[nodiscard]] DLSCALE_HOST_DEVICE Item item(std::uint32_t place) const {
    const auto [slow, quick] = fast.split(place);
    if constexpr (order == Order::nhwc) return {first + slow, static_cast<std::int32_t>(quick)};
    return {first + quick, static_cast<std::int32_t>(slow)};
  }
};

/// Position of a tile's first pixel in the images; the image may not exist.
struct Corner {
  std::int32_t image;
  std::int32_t row;
  std::int32_t column;

  DLSCALE_HOST_DEVICE Corner(const TileGrid& grid, std::uint32_t tile) {
    const auto [n, place] = grid.per_image.split(tile);
    const auto [i, j] = grid.columns.split(place);
    image = static_cast<std::int32_t>(n);
    row = static_cast<std::int32_t>(i) * grid.step - grid.pad;
    column = static_cast<std::int32_t>(j) * grid.step - grid.pad;
  }
};

/// Transforms tiles of n × n pixels to M d Mᵀ, where M has n columns: Bᵀ d B of inputs, G d Gᵀ of
/// the gradients that backward_filter takes as filters. Pixels beyond the edges, and tiles beyond
/// the last, are zero.
template <class T, class M, Order order>
struct TilesIn {
  static constexpr int n = M::columns;

  Images<order> images;
  TileGrid grid;
  Block<order> block;
  const T* from;
  float* to;

  [[nodiscard]] std::int64_t threads() const { return block.size; }

  DLSCALE_HOST_DEVICE void operator()(std::uint32_t place) const {
    const auto [tile, channel] = block.item(place);
    const Corner corner(grid, tile);
    float pixels[n][n];
    DLSCALE_UNROLL
    for (int i = 0; i < n; ++i) {
      DLSCALE_UNROLL
      for (int j = 0; j < n; ++j) pixels[i][j] = pixel(corner, channel, i, j);
    }
    float transformed[M::rows][M::rows];
    both_sides<M>(pixels, transformed);
    DLSCALE_UNROLL
    for (int i = 0; i < M::rows; ++i) {
      DLSCALE_UNROLL
      for (int j = 0; j < M::rows; ++j) {
        to[(i * M::rows + j) * block.size + place] = transformed[i][j];
      }
    }
  }

 private:
  [[nodiscard]] DLSCALE_HOST_DEVICE float pixel(const Corner& corner, std::int32_t channel, int i,
                                                int j) const {
    const std::int32_t h = corner.row + i;
    const std::int32_t w = corner.column + j;
    const bool inside = corner.image < grid.images && images.contain(h, w);
    return inside ? to_float(from[images.offset(corner.image, channel, h, w)]) : 0.0F;
  }
};

/// Transforms products back to tiles of m × m outputs: Aᵀ z A, M = Aᵀ. Skips what is beyond the
/// edges.
template <class T, class M, Order order>
struct TilesOut {
  static constexpr int n = M::columns;
  static constexpr int m = M::rows;

  Images<order> images;
  TileGrid grid;
  Block<order> block;
  int together;  ///< pixels written at once in nchw order: a power of two that divides m and width
  const float* from;
  T* to;

  [[nodiscard]] std::int64_t threads() const { return block.size; }

  DLSCALE_HOST_DEVICE void operator()(std::uint32_t place) const {
    const auto [tile, channel] = block.item(place);
    const Corner corner(grid, tile);
    if (corner.image >= grid.images) return;
    float products[n][n];
    DLSCALE_UNROLL
    for (int i = 0; i < n; ++i) {
      DLSCALE_UNROLL
      for (int j = 0; j < n; ++j) products[i][j] = from[(i * n + j) * block.size + place];
    }
    float outputs[m][m];
    both_sides<M>(products, outputs);
    if constexpr (order == Order::nchw) {
      if (m == 4 && together == 4) return write<m>(corner, channel, outputs);
      if (together == 2) return write<2>(corner, channel, outputs);
    }
    write<1>(corner, channel, outputs);
  }

 private:
  template <int width>
  DLSCALE_HOST_DEVICE void write(const Corner& corner, std::int32_t channel,
                                 const float (&outputs)[m][m]) const {
    DLSCALE_UNROLL
    for (int i = 0; i < m; ++i) {
      DLSCALE_UNROLL
      for (int j = 0; j < m; j += width) {
        const std::int32_t h = corner.row + i;
        const std::int32_t w = corner.column + j;
        if (!images.contain(h, w)) continue;
        Pack<T, width> pixels;
        DLSCALE_UNROLL
        for (int k = 0; k < width; ++k) pixels.values[k] = from_float<T>(outputs[i][j + k]);
        store(pixels, to + images.offset(corner.image, channel, h, w));
      }
    }
  }
};

/// K × C/groups filters of 3 × 3, as a tensor of images of that size.
template <Order order>
struct Filters {
  Images<order> images;
  Divisor inputs;  ///< C/groups

  explicit Filters(std::int64_t inputs_of_group)
      : images{static_cast<std::int32_t>(inputs_of_group), 3, 3}, inputs(inputs_of_group) {}

  [[nodiscard]] DLSCALE_HOST_DEVICE std::int64_t offset(std::uint32_t filter, int r, int s) const {
    const auto [k, c] = inputs.split(filter);
    return images.offset(static_cast<std::int32_t>(k), static_cast<std::int32_t>(c), r, s);
  }
};

/// Orientation in which the filters of a correlation are read: its transpose needs them turned by
/// half.
enum class Turn { none, half };

/// Transforms filters to G g Gᵀ. Filter (k, c) of matrix e is at e · K · C/groups + k · C/groups +
/// c.
template <class T, class M, Order order, Turn turn>
struct FiltersIn {
  Filters<order> filters;
  std::int64_t count;
  const T* from;
  float* to;

  [[nodiscard]] std::int64_t threads() const { return count; }

  DLSCALE_HOST_DEVICE void operator()(std::uint32_t filter) const {
    float taps[3][3];
    DLSCALE_UNROLL
    for (int r = 0; r < 3; ++r) {
      DLSCALE_UNROLL
      for (int s = 0; s < 3; ++s) {
        const std::int64_t at = turn == Turn::half ? filters.offset(filter, 2 - r, 2 - s)
                                                   : filters.offset(filter, r, s);
        taps[r][s] = to_float(from[at]);
      }
    }
    float transformed[M::rows][M::rows];
    both_sides<M>(taps, transformed);
    DLSCALE_UNROLL
    for (int i = 0; i < M::rows; ++i) {
      DLSCALE_UNROLL
      for (int j = 0; j < M::rows; ++j) to[(i * M::rows + j) * count + filter] = transformed[i][j];
    }
  }
};

/// The reverse, for the gradient of the filters: Aᵀ z A of F(3 × 3, m × m), in f32.
template <class M, Order order>
struct FiltersOut {
  static constexpr int n = M::columns;

  Filters<order> filters;
  std::int64_t count;
  const float* from;
  float* to;

  [[nodiscard]] std::int64_t threads() const { return count; }

  DLSCALE_HOST_DEVICE void operator()(std::uint32_t filter) const {
    float products[n][n];
    DLSCALE_UNROLL
    for (int i = 0; i < n; ++i) {
      DLSCALE_UNROLL
      for (int j = 0; j < n; ++j) products[i][j] = from[(i * n + j) * count + filter];
    }
    float taps[3][3];
    both_sides<M>(products, taps);
    DLSCALE_UNROLL
    for (int r = 0; r < 3; ++r) {
      DLSCALE_UNROLL
      for (int s = 0; s < 3; ++s) to[filters.offset(filter, r, s)] = taps[r][s];
    }
  }
};

}  // namespace dlscale::backend::cuda::transforms
