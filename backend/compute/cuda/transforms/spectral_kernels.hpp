#pragma once
#include <cstdint>

#include "backend/compute/check/image_tiling.hpp"
#include "backend/compute/cuda/transforms/fourier_transform.hpp"
#include "backend/compute/cuda/transforms/images.hpp"

/// Kernels that move images into the planes of a Fourier transform, and its spectra to the matrices
/// of the products. A team moves a square through shared memory, so that both reading and writing
/// follow the order in memory.
namespace dlscale::backend::cuda::transforms {

/// The square of a team. In each of four rounds, each thread takes one element of it.
struct Square {
  static constexpr std::uint32_t side = 32;
  static constexpr std::uint32_t rounds = side * side / team_size;

  /// Coordinates of a thread's element: consecutive threads share `slow` and are consecutive in
  /// `fast`.
  struct Element {
    std::uint32_t slow;
    std::uint32_t fast;
  };
  [[nodiscard]] DLSCALE_HOST_DEVICE static Element element(const Place& place,
                                                           std::uint32_t round) {
    return {place.thread / side + round * (team_size / side), place.thread % side};
  }
  static std::int64_t count(std::int64_t extent) { return (extent + side - 1) / side; }
};

/// The square in shared memory.
template <class T>
struct SharedSquare {
  T values[Square::side][Square::side + 1];  // a column is in different banks

  /// Stores read(i, j) at [i][j], for the elements (i, j) = element(round) of a thread. It issues
  /// all reads before it waits for any of them.
  template <class ElementOf, class Read>
  DLSCALE_HOST_DEVICE void fill(const ElementOf& element, const Read& read) {
    T held[Square::rounds];
    DLSCALE_UNROLL
    for (std::uint32_t round = 0; round < Square::rounds; ++round) {
      const auto [i, j] = element(round);
      held[round] = read(i, j);
    }
    DLSCALE_UNROLL
    for (std::uint32_t round = 0; round < Square::rounds; ++round) {
      const auto [i, j] = element(round);
      values[i][j] = held[round];
    }
  }
};

/// An axis of the planes of tiles: point `at` + e of tile t is pixel t · step + shift + e, e <
/// span.
struct PlaneAxis {
  std::int32_t step;
  std::int32_t shift;
  std::int32_t at;
  std::int32_t span;

  explicit PlaneAxis(const image_tiling::Cut& cut)
      : step(static_cast<std::int32_t>(cut.step)),
        shift(static_cast<std::int32_t>(cut.shift)),
        at(static_cast<std::int32_t>(cut.at)),
        span(static_cast<std::int32_t>(cut.span)) {}

  /// The pixel of a point; -1, which no image has, if there is none.
  [[nodiscard]] DLSCALE_HOST_DEVICE std::int32_t pixel(std::uint32_t tile,
                                                       std::uint32_t point) const {
    const std::int32_t e = static_cast<std::int32_t>(point) - at;
    return e < 0 || e >= span ? -1 : static_cast<std::int32_t>(tile) * step + shift + e;
  }
};

/// Planes first_plane … first_plane + count - 1, counted from tile first_tile.
struct PlaneRange {
  std::uint32_t first_tile;
  std::uint32_t first_plane;
  std::uint32_t count;
};

/// The tiles of images as planes of L × L points, tile by tile and channel by channel; tiles are
/// counted over all images. A filter is an image of one tile.
template <Order order>
struct Planes {
  Images<order> images;
  PlaneAxis y;
  PlaneAxis x;
  Divisor channels;
  Divisor per_image;  ///< tiles per image
  Divisor columns;    ///< tiles per row
  Divisor side;       ///< L
  std::int32_t image_count;

  [[nodiscard]] DLSCALE_HOST_DEVICE std::uint32_t points() const {
    return side.divisor() * side.divisor();
  }
  /// Elements in the order of the tensor in memory: channels if they are contiguous, otherwise
  /// points.
  struct Element {
    std::uint32_t plane;
    std::uint32_t point;
  };
  [[nodiscard]] DLSCALE_HOST_DEVICE static Element element(const Place& place,
                                                           std::uint32_t round) {
    const auto [slow, fast] = Square::element(place, round);
    if constexpr (order == Order::nhwc) return {fast, slow};
    return {slow, fast};
  }
  /// Position in the tensor of a point of a plane of the range; -1: none.
  [[nodiscard]] DLSCALE_HOST_DEVICE std::int64_t find(const PlaneRange& range, std::uint32_t plane,
                                                      std::uint32_t point) const {
    if (plane >= range.count || point >= points()) return -1;
    const auto [tile, channel] = channels.split(range.first_plane + plane);
    const auto [image, place] = per_image.split(range.first_tile + tile);
    const auto [i, j] = columns.split(place);
    const auto [v, h] = side.split(point);
    const auto n = static_cast<std::int32_t>(image);
    const std::int32_t row = y.pixel(i, v);
    const std::int32_t column = x.pixel(j, h);
    if (n >= image_count || !images.contain(row, column)) return -1;
    return images.offset(n, static_cast<std::int32_t>(channel), row, column);
  }
};

/// Reads images into planes, with zeros outside the image.
template <class T, Order order>
struct PlanesIn {
  static constexpr int phases = 2;
  using Shared = SharedSquare<float>;  // [plane][point]

  Planes<order> planes;
  PlaneRange range;
  const T* from;
  float* to;

  [[nodiscard]] std::int64_t teams_x() const { return Square::count(planes.points()); }
  [[nodiscard]] std::int64_t teams_y() const { return Square::count(range.count); }

  DLSCALE_HOST_DEVICE void run(int phase, const Place& place, Shared& shared) const {
    if (phase == 0) return read(place, shared);
    DLSCALE_UNROLL
    for (std::uint32_t round = 0; round < Square::rounds; ++round) {
      const auto [plane, point] = Square::element(place, round);
      const std::uint32_t p = place.y * Square::side + plane;
      const std::uint32_t q = place.x * Square::side + point;
      if (p >= range.count || q >= planes.points()) continue;
      to[std::int64_t{p} * planes.points() + q] = shared.values[plane][point];
    }
  }

 private:
  DLSCALE_HOST_DEVICE void read(const Place& place, Shared& shared) const {
    const auto element = [&](std::uint32_t round) { return planes.element(place, round); };
    shared.fill(element, [&](std::uint32_t plane, std::uint32_t point) {
      const std::int64_t at =
          planes.find(range, place.y * Square::side + plane, place.x * Square::side + point);
      return at < 0 ? 0.0F : to_float(from[at]);
    });
  }
};

/// The reverse: writes the part of the planes that belongs to images, multiplied by `scale`.
template <class T, Order order>
struct PlanesOut {
  static constexpr int phases = 2;
  using Shared = SharedSquare<float>;  // [plane][point]

  Planes<order> planes;
  PlaneRange range;
  float scale;
  const float* from;
  T* to;

  [[nodiscard]] std::int64_t teams_x() const { return Square::count(planes.points()); }
  [[nodiscard]] std::int64_t teams_y() const { return Square::count(range.count); }

  DLSCALE_HOST_DEVICE void run(int phase, const Place& place, Shared& shared) const {
    if (phase == 0) return read(place, shared);
    DLSCALE_UNROLL
    for (std::uint32_t round = 0; round < Square::rounds; ++round) {
      const auto [plane, point] = planes.element(place, round);
      const std::int64_t at =
          planes.find(range, place.y * Square::side + plane, place.x * Square::side + point);
      if (at >= 0) to[at] = from_float<T>(scale * shared.values[plane][point]);
    }
  }

 private:
  DLSCALE_HOST_DEVICE void read(const Place& place, Shared& shared) const {
    const auto element = [&](std::uint32_t round) { return Square::element(place, round); };
    shared.fill(element, [&](std::uint32_t plane, std::uint32_t point) {
      const std::uint32_t p = place.y * Square::side + plane;
      const std::uint32_t q = place.x * Square::side + point;
      const bool inside = p < range.count && q < planes.points();
      return inside ? from[std::int64_t{p} * planes.points() + q] : 0.0F;
    });
  }
};

/// to[column][row] = from[row][column] of complex numbers. Spectra, stored plane by plane, become
/// matrices, stored frequency by frequency, or back.
struct TransposedSpectra {
  static constexpr int phases = 2;
  using Shared = SharedSquare<Complex>;  // [row][column]

  const Complex* from;
  Complex* to;
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t from_stride;  ///< distance between rows of `from`
  std::int64_t to_stride;    ///< distance between rows of `to`

  [[nodiscard]] std::int64_t teams_x() const { return Square::count(columns); }
  [[nodiscard]] std::int64_t teams_y() const { return Square::count(rows); }

  DLSCALE_HOST_DEVICE void run(int phase, const Place& place, Shared& shared) const {
    if (phase == 0) return read(place, shared);
    DLSCALE_UNROLL
    for (std::uint32_t round = 0; round < Square::rounds; ++round) {
      const auto [j, i] = Square::element(place, round);
      const std::int64_t row = first(place.y) + i;
      const std::int64_t column = first(place.x) + j;
      if (row < rows && column < columns) to[column * to_stride + row] = shared.values[i][j];
    }
  }

 private:
  DLSCALE_HOST_DEVICE static std::int64_t first(std::uint32_t square) {
    return std::int64_t{square} * Square::side;
  }

  DLSCALE_HOST_DEVICE void read(const Place& place, Shared& shared) const {
    const auto element = [&](std::uint32_t round) { return Square::element(place, round); };
    shared.fill(element, [&](std::uint32_t i, std::uint32_t j) {
      const std::int64_t row = first(place.y) + i;
      const std::int64_t column = first(place.x) + j;
      const bool inside = row < rows && column < columns;
      return inside ? from[row * from_stride + column] : Complex{0, 0};
    });
  }
};

}  // namespace dlscale::backend::cuda::transforms
