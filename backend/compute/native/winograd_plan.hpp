#pragma once
#include <algorithm>
#include <string>

#include "backend/compute/native/winograd_kernels.hpp"
#include "backend/compute/native/workers.hpp"

/// How the passes of Winograd convolution cut their work, so that what they work on fits into the
/// caches and scratch does not grow with the batch.
namespace dlscale::backend::native_device::winograd {

/// About what the transformed tiles of a block take, of all channels together; but a block has
/// about `fewest_tiles` tiles, if there are as many: with few, the time would go into reading the
/// transformed filters.
inline constexpr Index block_bytes = Index{4} << 20;
inline constexpr Index fewest_tiles = 144;

/// About what the transformed filters of a block of output channels take; but a block has about
/// `fewest_channels` channels, if there are as many.
inline constexpr Index filter_bytes = Index{4} << 20;
inline constexpr Index fewest_channels = 64;

inline Index round_up(Index value, Index unit) {
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

/// "winograd F(4x4,3x3) avx3+gemm" for 4 outputs and 3 taps.
std::string implementation_name(const Kernels& kernels, int outputs, int taps);

/// The tiles of one pass, cut into blocks.
class Tiling {
 public:
  /// `channels`: how many planes of transformed tiles are held at once.
  Tiling(int m, Index images, Index out_height, Index out_width, Index channels, int threads);

  [[nodiscard]] int m() const { return m_; }
  [[nodiscard]] Index alpha() const { return m_ + 2; }
  [[nodiscard]] int threads() const { return threads_; }
  [[nodiscard]] const TileGrid& grid() const { return grid_; }
  [[nodiscard]] const Blocks& blocks() const { return blocks_; }

  /// Elements of working memory of all threads for read(). clear() it before the first.
  [[nodiscard]] Index strips() const;
  void clear(float* strips) const { std::fill_n(strips, this->strips(), 0.0F); }

  /// Transforms the tiles of `channels` planes that follow `first` to the rows of a stack.
  void read(ReadTiles transform, TileRange tiles, const Planes<const float>& first, Index channels,
            const Stack& stack, float* to, float* strips) const;

  /// body(e, first row, rows) for each of the alpha² products, each cut into enough parts of whole
  /// rows to keep all threads busy.
  template <class Body>
  void for_products(Index rows, const Body& body) const {
    const Index products = alpha() * alpha();
    const Index parts = std::min((Index{4} * threads_ + products - 1) / products, (rows + 7) / 8);
    const Blocks part(rows, (rows + parts - 1) / parts, 1, 1);
    parallel_for(threads_, products * part.count(), [&](Index i, int /*thread*/) {
      const Index first = i % part.count() * part.size;
      body(i / part.count(), first, part.length(first));
    });
  }

 private:
  int m_;
  int threads_;
  TileGrid grid_;
  Blocks blocks_;
  Index strip_stride_;
};

}  // namespace dlscale::backend::native_device::winograd
