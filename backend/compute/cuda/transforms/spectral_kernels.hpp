#pragma once
#include <cstdint>

#include "backend/compute/cuda/transforms/fourier_transform.hpp"
#include "backend/compute/cuda/transforms/images.hpp"
#include "backend/compute/image_tiling.hpp"

/// What moves images into the planes that a Fourier transform takes, and its spectra to where
/// products find them. A team moves a square through its own memory, so that both reading and
/// writing follow the order in memory.
namespace dlscale::backend::cuda::transforms {

/// The square of a team, and the way of its threads through it, line by line of 32.
struct Square {
  static constexpr int side = 32;
  static constexpr int rounds = side * side / static_cast<int>(team_size);
  static constexpr int step = static_cast<int>(team_size) / side;

  [[nodiscard]] DLSCALE_HOST_DEVICE static std::uint32_t lane(const Place& place) {
    return place.thread % side;
  }
  [[nodiscard]] DLSCALE_HOST_DEVICE static std::uint32_t line(const Place& place, int round) {
    return place.thread / side + static_cast<std::uint32_t>(round) * step;
  }
  static std::int64_t count(std::int64_t extent) { return (extent + side - 1) / side; }
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

  /// The pixel of a point; -1, which no image has, where there is none.
  [[nodiscard]] DLSCALE_HOST_DEVICE std::int32_t pixel(std::uint32_t tile,
                                                       std::uint32_t point) const {
    const std::int32_t e = static_cast<std::int32_t>(point) - at;
    return e < 0 || e >= span ? -1 : static_cast<std::int32_t>(tile) * step + shift + e;
  }
};

/// The tiles of images as planes of L × L points, channel by channel of tile by tile, tiles counted
/// over all images. A filter is an image of one tile.
template <Order order>
struct Planes {
  Images<order> images;
  PlaneAxis y;
  PlaneAxis x;
  Divisor channels;
  Divisor per_image;  ///< tiles
  Divisor columns;    ///< of tiles
  Divisor side;       ///< L
  std::int32_t image_count;

  [[nodiscard]] DLSCALE_HOST_DEVICE std::uint32_t points() const {
    return side.divisor() * side.divisor();
  }
  /// Where a point of a plane, counted from that of the first channel of tile `first`, lies in the
  /// tensor; -1: nowhere.
  [[nodiscard]] DLSCALE_HOST_DEVICE std::int64_t find(std::uint32_t first, std::uint32_t plane,
                                                      std::uint32_t point) const {
    const auto [tile, channel] = channels.split(plane);
    const auto [image, place] = per_image.split(first + tile);
    const auto [i, j] = columns.split(place);
    const auto [v, h] = side.split(point);
    const auto n = static_cast<std::int32_t>(image);
    const std::int32_t row = y.pixel(i, v);
    const std::int32_t column = x.pixel(j, h);
    if (n >= image_count || !images.contain(row, column)) return -1;
    return images.offset(n, static_cast<std::int32_t>(channel), row, column);
  }
};

/// Planes first_plane … first_plane + count - 1 of those that begin with tile first_tile.
struct PlaneRange {
  std::uint32_t first_tile;
  std::uint32_t first_plane;
  std::uint32_t count;
};

/// Reads images into planes, zeros where there is nothing.
template <class T, Order order>
struct PlanesIn {
  static constexpr int phases = 2;
  struct Shared {
    float values[Square::side][Square::side + 1];  // [plane][point]; a column: different banks
  };

  Planes<order> planes;
  PlaneRange range;
  const T* from;
  float* to;

  [[nodiscard]] std::int64_t teams_x() const { return Square::count(planes.points()); }
  [[nodiscard]] std::int64_t teams_y() const { return Square::count(range.count); }

  DLSCALE_HOST_DEVICE void run(int phase, const Place& place, Shared& shared) const {
    const bool by_plane = order == Order::nhwc && phase == 0;  // else threads follow the points
    const std::uint32_t lane = Square::lane(place);
    DLSCALE_UNROLL
    for (int round = 0; round < Square::rounds; ++round) {
      const std::uint32_t line = Square::line(place, round);
      const std::uint32_t plane = by_plane ? lane : line;
      const std::uint32_t point = by_plane ? line : lane;
      const std::uint32_t p = place.y * Square::side + plane;
      const std::uint32_t q = place.x * Square::side + point;
      if (p >= range.count || q >= planes.points()) continue;
      float& value = shared.values[plane][point];
      if (phase == 0) {
        const std::int64_t at = planes.find(range.first_tile, range.first_plane + p, q);
        value = at < 0 ? 0.0F : to_float(from[at]);
      } else {
        to[std::int64_t{p} * planes.points() + q] = value;
      }
    }
  }
};

/// The reverse: writes what images have of the planes, multiplied by `scale`.
template <class T, Order order>
struct PlanesOut {
  static constexpr int phases = 2;
  using Shared = typename PlanesIn<T, order>::Shared;

  Planes<order> planes;
  PlaneRange range;
  float scale;
  const float* from;
  T* to;

  [[nodiscard]] std::int64_t teams_x() const { return Square::count(planes.points()); }
  [[nodiscard]] std::int64_t teams_y() const { return Square::count(range.count); }

  DLSCALE_HOST_DEVICE void run(int phase, const Place& place, Shared& shared) const {
    const bool by_plane = order == Order::nhwc && phase == 1;
    const std::uint32_t lane = Square::lane(place);
    DLSCALE_UNROLL
    for (int round = 0; round < Square::rounds; ++round) {
      const std::uint32_t line = Square::line(place, round);
      const std::uint32_t plane = by_plane ? lane : line;
      const std::uint32_t point = by_plane ? line : lane;
      const std::uint32_t p = place.y * Square::side + plane;
      const std::uint32_t q = place.x * Square::side + point;
      if (p >= range.count || q >= planes.points()) continue;
      float& value = shared.values[plane][point];
      if (phase == 0) {
        value = from[std::int64_t{p} * planes.points() + q];
      } else {
        const std::int64_t at = planes.find(range.first_tile, range.first_plane + p, q);
        if (at >= 0) to[at] = from_float<T>(scale * value);
      }
    }
  }
};

/// to[column][row] = from[row][column] of complex numbers: spectra, frequency by frequency of plane
/// by plane, to matrices, plane by plane of frequency by frequency, or back.
struct TransposedSpectra {
  static constexpr int phases = 2;
  struct Shared {
    Complex values[Square::side][Square::side + 1];
  };

  const Complex* from;
  Complex* to;
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t from_stride;  ///< from row to row of `from`
  std::int64_t to_stride;    ///< from row to row of `to`

  [[nodiscard]] std::int64_t teams_x() const { return Square::count(columns); }
  [[nodiscard]] std::int64_t teams_y() const { return Square::count(rows); }

  DLSCALE_HOST_DEVICE void run(int phase, const Place& place, Shared& shared) const {
    const std::uint32_t lane = Square::lane(place);
    DLSCALE_UNROLL
    for (int round = 0; round < Square::rounds; ++round) {
      const std::uint32_t line = Square::line(place, round);
      const std::uint32_t i = phase == 0 ? line : lane;
      const std::uint32_t j = phase == 0 ? lane : line;
      const std::int64_t row = std::int64_t{place.y} * Square::side + i;
      const std::int64_t column = std::int64_t{place.x} * Square::side + j;
      if (row >= rows || column >= columns) continue;
      if (phase == 0) {
        shared.values[i][j] = from[row * from_stride + column];
      } else {
        to[column * to_stride + row] = shared.values[i][j];
      }
    }
  }
};

}  // namespace dlscale::backend::cuda::transforms
