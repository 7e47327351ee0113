#include "backend/compute/native/winograd/winograd_kernels.hpp"

#include "backend/compute/winograd_matrices.hpp"

// Compiles this file once for each instruction set. Arrays of vectors need a size known here.
#ifndef DLSCALE_SPARED_TARGETS
#define DLSCALE_SPARED_TARGETS 0
#endif
#define HWY_DISABLED_TARGETS \
  (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV | DLSCALE_SPARED_TARGETS)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/compute/native/winograd/winograd_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backend/compute/native/winograd/winograd_transform_inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace dlscale::backend::native_device::winograd::HWY_NAMESPACE {

namespace filtering = minimal_filtering;

template <int alpha>
struct Data {
  static constexpr auto matrix = filtering::rounded(filtering::data_matrix<alpha>());
};
template <int m, int r>
struct Filter {
  static constexpr auto matrix = filtering::rounded(filtering::filter_matrix<m, r>());
};
template <int m, int r>
struct Output {
  static constexpr auto matrix = filtering::rounded(filtering::output_matrix<m, r>());
};

template <const auto& matrix>
constexpr int row_count = static_cast<int>(matrix.size());
template <const auto& matrix>
constexpr int column_count = static_cast<int>(matrix[0].size());

/// Transforms down `count` columns of n rows of pixels, and writes row i of the result to strip + i
/// · stride. Narrower and narrower vectors end exactly at the last column.
template <const auto& matrix, class D>
HWY_INLINE void transform_columns(D d, const float* const (&rows)[column_count<matrix>], Index at,
                                  Index count, float* strip, Index stride) {
  constexpr int n = column_count<matrix>;
  constexpr int alpha = row_count<matrix>;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  for (; at + lanes <= count; at += lanes) {
    Vectors<D, n> x;
    Vectors<D, alpha> y;
    unrolled<n>([&](auto i) HWY_ATTR { x[i] = hn::LoadU(d, rows[i] + at); });
    expand<matrix, D, n, alpha>(d, x, y);
    unrolled<alpha>([&](auto i) HWY_ATTR { hn::StoreU(y[i], d, strip + i * stride + at); });
  }
  if constexpr (hn::MaxLanes(D()) > 1) {
    if (at < count) transform_columns<matrix>(hn::Half<D>(), rows, at, count, strip, stride);
  }
}

/// Fills a strip with the columns of a run of tiles, transformed downwards. Pixel 0 of the first
/// tile is column 0 of the strip.
template <const auto& matrix, int step>
HWY_INLINE void fill_strip(const TileRun& run, const Planes<const float>& planes, float* strip,
                           Index stride) {
  constexpr int n = column_count<matrix>;
  constexpr int alpha = row_count<matrix>;
  const Index top = run.row * step - planes.pad;
  const Index left = run.column * step - planes.pad;
  const Index width = (run.count - 1) * step + n;
  const Index begin = std::max<Index>(0, -left);  // columns inside the image
  const Index end = std::min(width, planes.width - left);
  const float* plane = planes.data + run.image * planes.image_stride;
  const float* rows[n];
  for (int i = 0; i < n; ++i) {
    const bool inside = top + i >= 0 && top + i < planes.height;
    rows[i] = inside ? plane + (top + i) * planes.width + left + begin : strip + alpha * stride;
  }
  transform_columns<matrix>(FullTag(), rows, 0, end - begin, strip + begin, stride);
  for (int i = 0; i < alpha; ++i) {
    std::fill(strip + i * stride, strip + i * stride + begin, 0.0F);
    std::fill(strip + i * stride + end, strip + i * stride + width, 0.0F);
  }
}

/// Loads x[j] = from[j], from[j + step], … for j < n ≤ 2 · step: one column of several tiles.
template <int step, class D, int n>
HWY_INLINE void load_tiles(D d, const float* from, Vectors<D, n>& x) {
  Vectors<D, step> columns;
  deinterleave<step>(d, from, columns);
  unrolled<step>([&](auto j) HWY_ATTR { x[j] = columns[j]; });
  if constexpr (n > step) {
    deinterleave<step>(d, from + step, columns);
    unrolled<n - step>([&](auto j) HWY_ATTR { x[step + j] = columns[j]; });
  }
}

/// ReadTiles for tiles that begin `step` pixels after one another.
template <const auto& matrix, int step>
void read_tiles(const TileGrid& grid, TileRange tiles, const Planes<const float>& planes,
                float* strip, Index width, float* v, Index stride) {
  constexpr int n = column_count<matrix>;
  constexpr int alpha = row_count<matrix>;
  const FullTag d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  for (Index count = 0; tiles.first < tiles.last; tiles.first += count, v += count) {
    const TileRun run = first_run(grid, tiles);
    count = run.count;
    fill_strip<matrix, step>(run, planes, strip, width);
    for (Index t = 0; t < count; t += lanes) {
      for (Index i = 0; i < alpha; ++i) {
        Vectors<FullTag, n> x;
        Vectors<FullTag, alpha> y;
        load_tiles<step, FullTag, n>(d, strip + i * width + t * step, x);
        expand<matrix, FullTag, n, alpha>(d, x, y);
        unrolled<alpha>([&](auto j)
                            HWY_ATTR { hn::StoreU(y[j], d, v + (i * alpha + j) * stride + t); });
      }
    }
  }
}

/// Aᵀ z A of one tile (or filter) per lane. Calls take(i, row i of the result).
template <const auto& matrix, class D, class Take>
HWY_INLINE void contract_both_ways(D d, const float* z, Index stride, const Take& take) {
  constexpr int m = row_count<matrix>;
  constexpr int alpha = column_count<matrix>;
  hn::Vec<D> half_way[m][alpha];
  unrolled<alpha>([&](auto j) HWY_ATTR {
    Vectors<D, alpha> x;
    Vectors<D, m> y;
    unrolled<alpha>([&](auto i) HWY_ATTR { x[i] = hn::LoadU(d, z + (i * alpha + j) * stride); });
    contract<matrix, D, alpha, m>(d, x, y);
    unrolled<m>([&](auto i) HWY_ATTR { half_way[i][j] = y[i]; });
  });
  unrolled<m>([&](auto i) HWY_ATTR {
    Vectors<D, m> y;
    contract<matrix, D, alpha, m>(d, half_way[i], y);
    take(i, y);
  });
}

/// Stores the first `columns` pixels of a row of tiles of width m.
template <int m, class D>
HWY_INLINE void store_pixels(D d, const Vectors<D, m>& x, Index columns, float* to) {
  if (columns >= m * static_cast<Index>(hn::Lanes(d))) {
    interleave<m>(d, x, to);
  } else {
    alignas(64) float pixels[m * hn::MaxLanes(d)];
    interleave<m>(d, x, pixels);
    std::copy_n(pixels, columns, to);
  }
}

template <const auto& matrix>
void write_tiles(const TileGrid& grid, TileRange tiles, const float* products, Index stride,
                 const Planes<float>& planes) {
  constexpr int m = row_count<matrix>;
  const FullTag d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  for (Index count = 0; tiles.first < tiles.last; tiles.first += count, products += count) {
    const TileRun run = first_run(grid, tiles);
    count = run.count;
    const Index rows = std::min<Index>(m, planes.height - run.row * m);
    for (Index t = 0; t < count; t += lanes) {
      const Index left = (run.column + t) * m;
      const Index columns = std::min((count - t) * m, planes.width - left);
      float* to = planes.data + run.image * planes.image_stride + run.row * m * planes.width + left;
      contract_both_ways<matrix>(d, products + t, stride, [&](auto i, const auto& y) HWY_ATTR {
        if (i < rows) store_pixels<m>(d, y, columns, to + i * planes.width);
      });
    }
  }
}

/// G g Gᵀ of one filter per lane.
template <const auto& matrix, class D>
HWY_INLINE void expand_both_ways(D d, const Vectors<D, 3> (&g)[3], float* u, Index stride) {
  constexpr int alpha = row_count<matrix>;
  hn::Vec<D> half_way[alpha][3];
  unrolled<3>([&](auto s) HWY_ATTR {
    const Vectors<D, 3> x{g[0][s], g[1][s], g[2][s]};
    Vectors<D, alpha> y;
    expand<matrix, D, 3, alpha>(d, x, y);
    unrolled<alpha>([&](auto i) HWY_ATTR { half_way[i][s] = y[i]; });
  });
  unrolled<alpha>([&](auto i) HWY_ATTR {
    Vectors<D, alpha> y;
    expand<matrix, D, 3, alpha>(d, half_way[i], y);
    unrolled<alpha>([&](auto j) HWY_ATTR { hn::StoreU(y[j], d, u + (i * alpha + j) * stride); });
  });
}

enum class Turn { none, half };

template <const auto& matrix, Turn turn>
void read_filters(const float* filters, Index count, float* u, Index stride) {
  const FullTag d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  alignas(64) float last[9 * hn::MaxLanes(d)] = {};
  for (Index at = 0; at < count; at += lanes, filters += 9 * lanes) {
    const bool full = at + lanes <= count;
    if (!full) std::copy_n(filters, 9 * (count - at), last);
    Vectors<FullTag, 3> g[3];
    load_filters(d, full ? filters : last, g);
    if constexpr (turn == Turn::half) {
      std::swap(g[0], g[2]);
      for (auto& row : g) std::swap(row[0], row[2]);
    }
    expand_both_ways<matrix>(d, g, u + at, stride);
  }
}

template <const auto& matrix>
void write_filters(const float* products, Index stride, Index count, float* filters) {
  const FullTag d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  for (Index at = 0; at < count; at += lanes, filters += 9 * lanes) {
    Vectors<FullTag, 3> g[3];
    contract_both_ways<matrix>(d, products + at, stride, [&](auto r, const auto& row) HWY_ATTR {
      unrolled<3>([&](auto s) HWY_ATTR { g[r][s] = row[s]; });
    });
    if (at + lanes <= count) {
      store_filters(d, g, filters);
    } else {
      alignas(64) float last[9 * hn::MaxLanes(d)];
      store_filters(d, g, last);
      std::copy_n(last, 9 * (count - at), filters);
    }
  }
}

template <int m>
Kernels kernels_of() {
  return {hwy::TargetName(HWY_TARGET),
          read_tiles<Data<m + 2>::matrix, m>,
          read_tiles<Filter<3, m>::matrix, m>,
          read_filters<Filter<m, 3>::matrix, Turn::none>,
          read_filters<Filter<m, 3>::matrix, Turn::half>,
          write_tiles<Output<m, 3>::matrix>,
          write_filters<Output<3, m>::matrix>};
}

Kernels choose(int m) {
  return m == 2 ? kernels_of<2>() : m == 4 ? kernels_of<4>() : kernels_of<6>();
}

}  // namespace dlscale::backend::native_device::winograd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dlscale::backend::native_device::winograd {

HWY_EXPORT(choose);

Kernels kernels(int m) {
  return HWY_DYNAMIC_DISPATCH(choose)(m);
}

}  // namespace dlscale::backend::native_device::winograd
#endif
