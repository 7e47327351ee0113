#pragma once
#include <algorithm>
#include <cstdint>
#include <utility>

#include "backend/compute/cuda/kernels/own_operation.hpp"
#include "backend/compute/cuda/runtime/map.hpp"

namespace dlscale::backend::cuda {

/// to[b][column][row] = from[b][row][column], converted. A team moves a square tile through shared
/// memory, so that both reading and writing follow the order in memory.
template <class From, class To>
struct TransposedTiles {
  static constexpr int side = 64;
  static constexpr int rounds = side * side / static_cast<int>(team_size);
  static constexpr int phases = 2;
  struct Shared {
    float values[side][side + 1];  // a column is in different banks
  };

  const From* from;
  To* to;
  std::int64_t batch;
  std::int64_t rows;
  std::int64_t columns;

  [[nodiscard]] std::int64_t teams_x() const { return batch * tiles(rows); }
  [[nodiscard]] std::int64_t teams_y() const { return tiles(columns); }

  DLSCALE_HOST_DEVICE void run(int phase, const Place& place, Shared& shared) const {
    const std::int64_t image = place.x / tiles(rows);
    const std::int64_t first_row = place.x % tiles(rows) * side;
    const std::int64_t first_column = std::int64_t{place.y} * side;
    const std::int64_t start = image * rows * columns;
    const int lane = static_cast<int>(place.thread) % side;
    const int line = static_cast<int>(place.thread) / side;
    constexpr int step = static_cast<int>(team_size) / side;
    DLSCALE_UNROLL
    for (int round = 0; round < rounds; ++round) {
      const int i = line + round * step;
      if (phase == 0) {
        const std::int64_t row = first_row + i;
        const std::int64_t column = first_column + lane;
        if (row >= rows || column >= columns) continue;
        shared.values[i][lane] = to_float(from[start + row * columns + column]);
      } else {
        const std::int64_t row = first_row + lane;
        const std::int64_t column = first_column + i;
        if (row >= rows || column >= columns) continue;
        to[start + column * rows + row] = from_float<To>(shared.values[lane][i]);
      }
    }
  }

 private:
  DLSCALE_HOST_DEVICE static std::int64_t tiles(std::int64_t size) {
    return (size + side - 1) / side;
  }
};

/// The same where either rows or columns are few, for example the three channels of an image. A
/// thread moves all of a line.
template <class From, class To>
struct TransposedLines {
  const From* from;
  To* to;
  Divisor lines;  ///< lines per image: the more numerous of rows and columns
  int length;     ///< elements per line: the fewer of the two
  std::int64_t from_line, from_element;
  std::int64_t to_line, to_element;

  DLSCALE_HOST_DEVICE void operator()(std::uint32_t thread) const {
    const auto [image, line] = lines.split(thread);
    const std::int64_t start = std::int64_t{image} * lines.divisor() * length;
    for (int i = 0; i < length; ++i) {
      to[start + line * to_line + i * to_element] =
          from_float<To>(to_float(from[start + line * from_line + i * from_element]));
    }
  }
};

template <class From, class To, class Launcher>
void launch_transpose(const Launcher& launcher, const From* from, To* to, std::int64_t batch,
                      std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t shortest_of_tiles = 16;
  if (rows < columns && rows < shortest_of_tiles) {
    const TransposedLines<From, To> code{
        from, to, Divisor(columns), static_cast<int>(rows), 1, columns, rows, 1};
    launcher.each("reorder of lines", code, batch * columns);
  } else if (columns <= rows && columns < shortest_of_tiles) {
    const TransposedLines<From, To> code{
        from, to, Divisor(rows), static_cast<int>(columns), columns, 1, 1, rows};
    launcher.each("reorder of lines", code, batch * rows);
  } else {
    const TransposedTiles<From, To> code{from, to, batch, rows, columns};
    launcher.teams("reorder", code, code.teams_x(), code.teams_y());
  }
}

template <class From, class To, class Launcher>
void launch_cast(const Launcher& launcher, const From* from, To* to, std::int64_t elements) {
  const auto launch = [&]<int width>(std::integral_constant<int, width>) {
    const Map<From, To, 1, width, Identity> map{
        {from}, to, static_cast<std::uint64_t>(elements), {}};
    launcher.each("cast", map, map.threads());
  };
  if (all_aligned({from, to}, 16)) {
    launch(std::integral_constant<int, common_width<From, To>>());
  } else {
    launch(std::integral_constant<int, 1>());
  }
}

/// Enqueues a copy between orders and precisions; dims agree.
template <class Launcher>
void launch_convert(const Launcher& launcher, const Tensor& from, const Tensor& to) {
  EXPECT(from.desc.dims == to.desc.dims);
  const auto& dims = from.desc.dims;
  const std::int64_t channels = dims[1];
  const std::int64_t pixels = dims[2] * dims[3];
  const Order order = order_of(from.desc);
  const bool same = order == order_of(to.desc) || channels == 1 || pixels == 1;
  with_element(from.desc.dtype, [&]<class From>(From) {
    with_element(to.desc.dtype, [&]<class To>(To) {
      const From* source = from.as<const From>();
      To* target = to.as<To>();
      if (same) return launch_cast(launcher, source, target, from.desc.elements());
      const bool by_planes = order == Order::nchw;
      launch_transpose(launcher, source, target, dims[0], by_planes ? channels : pixels,
                       by_planes ? pixels : channels);
    });
  });
}

}  // namespace dlscale::backend::cuda
