#pragma once
#include <cstdint>
#include <limits>
#include <utility>

#include "backend/compute/cuda/kernels/own_operation.hpp"

namespace dlscale::backend::cuda {

/// Windows over images stored pixel by pixel: an nhwc tensor, or an nchw one whose planes are
/// treated as images of one channel.
struct PoolingShape {
  int kernel_h, kernel_w, stride, pad;
  int input_height, input_width;
  int output_height, output_width;
  std::int64_t images;
  std::int64_t channels;

  PoolingShape(const OperationSpec& spec, const Pooling& kind, Order order);
};

/// Pixels of a tensor in packs of channels; each pack is the work of one thread.
class PixelPacks {
 public:
  struct Point {
    std::uint32_t image;
    int row;
    int column;
    std::uint32_t channel;  ///< the first of the pack
  };

  PixelPacks(int height, int columns, std::int64_t channels, int width)
      : packs_(channels / width), columns_(columns), rows_(height), width_(width) {}

  DLSCALE_HOST_DEVICE Point at(std::uint32_t thread) const {
    const auto [pixel, pack] = packs_.split(thread);
    const auto [line, column] = columns_.split(pixel);
    const auto [image, row] = rows_.split(line);
    return {image, static_cast<int>(row), static_cast<int>(column),
            pack * static_cast<std::uint32_t>(width_)};
  }

 private:
  Divisor packs_;
  Divisor columns_;
  Divisor rows_;
  int width_;
};

DLSCALE_HOST_DEVICE inline int larger(int a, int b) {
  return a > b ? a : b;
}
DLSCALE_HOST_DEVICE inline int smaller(int a, int b) {
  return a < b ? a : b;
}

/// Code that the passes share.
template <int width>
struct PoolingCode {
  PoolingShape shape;
  PixelPacks output;
  PixelPacks input;
  Divisor stride;

  explicit PoolingCode(const PoolingShape& of)
      : shape(of),
        output(of.output_height, of.output_width, of.channels, width),
        input(of.input_height, of.input_width, of.channels, width),
        stride(of.stride) {}

  using Point = PixelPacks::Point;

  [[nodiscard]] std::int64_t output_threads() const {
    return shape.images * shape.output_height * shape.output_width * (shape.channels / width);
  }
  [[nodiscard]] std::int64_t input_threads() const {
    return shape.images * shape.input_height * shape.input_width * (shape.channels / width);
  }

  DLSCALE_HOST_DEVICE std::int64_t input_offset(const Point& at, int row, int column) const {
    return ((std::int64_t{at.image} * shape.input_height + row) * shape.input_width + column) *
               shape.channels +
           at.channel;
  }
  DLSCALE_HOST_DEVICE std::int64_t output_offset(const Point& at, int row, int column) const {
    return ((std::int64_t{at.image} * shape.output_height + row) * shape.output_width + column) *
               shape.channels +
           at.channel;
  }

  /// Rows [first, last) of a window, or of the windows over a pixel.
  struct Range {
    int first;
    int last;
  };
  DLSCALE_HOST_DEVICE static Range window(int start, int kernel, int size) {
    return {larger(start, 0), smaller(start + kernel, size)};
  }
  DLSCALE_HOST_DEVICE Range windows_over(int pixel, int kernel, int outputs) const {
    const int padded = pixel + shape.pad;
    const int first = padded < kernel ? 0 : static_cast<int>(stride.quotient(padded - kernel)) + 1;
    return {first, smaller(static_cast<int>(stride.quotient(padded)) + 1, outputs)};
  }
  /// Number of elements of an output pixel's window that are inside the image.
  DLSCALE_HOST_DEVICE float elements(int row, int column) const {
    const Range rows = window(row * shape.stride - shape.pad, shape.kernel_h, shape.input_height);
    const Range columns =
        window(column * shape.stride - shape.pad, shape.kernel_w, shape.input_width);
    return static_cast<float>(rows.last - rows.first) *
           static_cast<float>(columns.last - columns.first);
  }
};

/// Writes the largest elements of the windows and the tap of the kernel where the first such
/// element is. `kernel` is its height and width where they are known, so that all loads can be in
/// flight together; otherwise 0.
template <class T, class Tap, int width, int kernel>
struct MaxForward : PoolingCode<width> {
  using Base = PoolingCode<width>;
  const T* x;
  T* y;
  Tap* taps;

  MaxForward(const PoolingShape& of, const T* from, T* to, Tap* places)
      : Base(of), x(from), y(to), taps(places) {}

  DLSCALE_HOST_DEVICE void operator()(std::uint32_t thread) const {
    const auto at = this->output.at(thread);
    const int top = at.row * this->shape.stride - this->shape.pad;
    const int left = at.column * this->shape.stride - this->shape.pad;
    const int height = kernel != 0 ? kernel : this->shape.kernel_h;
    const int columns = kernel != 0 ? kernel : this->shape.kernel_w;
    float best[width];
    Pack<Tap, width> where;
    DLSCALE_UNROLL
    for (int i = 0; i < width; ++i) {
      best[i] = -std::numeric_limits<float>::infinity();
      where.values[i] = static_cast<Tap>(larger(-top, 0) * columns + larger(-left, 0));
    }
    const auto visit = [&](int r, int s) {
      const int row = top + r;
      const int column = left + s;
      if (row < 0 || row >= this->shape.input_height || column < 0 ||
          column >= this->shape.input_width) {
        return;
      }
      const Pack<T, width> pack = load<width>(x + this->input_offset(at, row, column));
      DLSCALE_UNROLL
      for (int i = 0; i < width; ++i) {
        const float value = to_float(pack.values[i]);
        if (value > best[i] || value != value) {  // NaN is larger than all: it must show
          best[i] = value;
          where.values[i] = static_cast<Tap>(r * columns + s);
        }
      }
    };
    if constexpr (kernel != 0) {
      DLSCALE_UNROLL
      for (int tap = 0; tap < kernel * kernel; ++tap) visit(tap / kernel, tap % kernel);
    } else {
      for (int r = 0; r < height; ++r) {
        for (int s = 0; s < columns; ++s) visit(r, s);
      }
    }
    Pack<T, width> result;
    DLSCALE_UNROLL
    for (int i = 0; i < width; ++i) result.values[i] = from_float<T>(best[i]);
    const std::int64_t to = std::int64_t{thread} * width;
    store(result, y + to);
    store(where, taps + to);
  }
};

/// Gathers, for each input pixel, the gradients of the windows whose largest element it was.
template <class T, class Tap, int width>
struct MaxBackward : PoolingCode<width> {
  using Base = PoolingCode<width>;
  const T* dy;
  const Tap* taps;
  T* dx;

  MaxBackward(const PoolingShape& of, const T* from, const Tap* places, T* to)
      : Base(of), dy(from), taps(places), dx(to) {}

  DLSCALE_HOST_DEVICE void operator()(std::uint32_t thread) const {
    const auto at = this->input.at(thread);
    const auto rows = this->windows_over(at.row, this->shape.kernel_h, this->shape.output_height);
    const auto columns =
        this->windows_over(at.column, this->shape.kernel_w, this->shape.output_width);
    float sums[width] = {};
    for (int p = rows.first; p < rows.last; ++p) {
      const int r = at.row + this->shape.pad - p * this->shape.stride;
      for (int q = columns.first; q < columns.last; ++q) {
        const int s = at.column + this->shape.pad - q * this->shape.stride;
        const auto tap = static_cast<Tap>(r * this->shape.kernel_w + s);
        const std::int64_t from = this->output_offset(at, p, q);
        const Pack<Tap, width> where = load<width>(taps + from);
        const Pack<T, width> gradient = load<width>(dy + from);
        DLSCALE_UNROLL
        for (int i = 0; i < width; ++i) {
          if (where.values[i] == tap) sums[i] += to_float(gradient.values[i]);
        }
      }
    }
    Pack<T, width> result;
    DLSCALE_UNROLL
    for (int i = 0; i < width; ++i) result.values[i] = from_float<T>(sums[i]);
    store(result, dx + std::int64_t{thread} * width);
  }
};

/// Mean of the elements of a window that are inside the image.
template <class T, int width>
struct AverageForward : PoolingCode<width> {
  const T* x;
  T* y;

  AverageForward(const PoolingShape& of, const T* from, T* to)
      : PoolingCode<width>(of), x(from), y(to) {}

  DLSCALE_HOST_DEVICE void operator()(std::uint32_t thread) const {
    const auto at = this->output.at(thread);
    const auto rows = this->window(at.row * this->shape.stride - this->shape.pad,
                                   this->shape.kernel_h, this->shape.input_height);
    const auto columns = this->window(at.column * this->shape.stride - this->shape.pad,
                                      this->shape.kernel_w, this->shape.input_width);
    float sums[width] = {};
    for (int row = rows.first; row < rows.last; ++row) {
      for (int column = columns.first; column < columns.last; ++column) {
        const Pack<T, width> pack = load<width>(x + this->input_offset(at, row, column));
        DLSCALE_UNROLL
        for (int i = 0; i < width; ++i) sums[i] += to_float(pack.values[i]);
      }
    }
    const float share = 1.0F / this->elements(at.row, at.column);
    Pack<T, width> result;
    DLSCALE_UNROLL
    for (int i = 0; i < width; ++i) result.values[i] = from_float<T>(sums[i] * share);
    store(result, y + std::int64_t{thread} * width);
  }
};

template <class T, int width>
struct AverageBackward : PoolingCode<width> {
  const T* dy;
  T* dx;

  AverageBackward(const PoolingShape& of, const T* from, T* to)
      : PoolingCode<width>(of), dy(from), dx(to) {}

  DLSCALE_HOST_DEVICE void operator()(std::uint32_t thread) const {
    const auto at = this->input.at(thread);
    const auto rows = this->windows_over(at.row, this->shape.kernel_h, this->shape.output_height);
    const auto columns =
        this->windows_over(at.column, this->shape.kernel_w, this->shape.output_width);
    float sums[width] = {};
    for (int p = rows.first; p < rows.last; ++p) {
      for (int q = columns.first; q < columns.last; ++q) {
        const Pack<T, width> gradient = load<width>(dy + this->output_offset(at, p, q));
        const float share = 1.0F / this->elements(p, q);
        DLSCALE_UNROLL
        for (int i = 0; i < width; ++i) sums[i] += to_float(gradient.values[i]) * share;
      }
    }
    Pack<T, width> result;
    DLSCALE_UNROLL
    for (int i = 0; i < width; ++i) result.values[i] = from_float<T>(sums[i]);
    store(result, dx + std::int64_t{thread} * width);
  }
};

/// Mean of whole contiguous planes (nchw). A team takes several planes, with a warp's worth of
/// threads each, so that they read neighbouring elements.
template <class T>
struct PlaneMeans {
  static constexpr int lanes = 32;
  static constexpr int planes_of_team = static_cast<int>(team_size) / lanes;
  static constexpr int phases = 7;  ///< read, halve five times, write
  struct Shared {
    float sums[team_size];
  };

  const T* x;
  T* y;
  std::int64_t planes;
  int pixels;

  [[nodiscard]] std::int64_t teams() const {
    return (planes + planes_of_team - 1) / planes_of_team;
  }

  DLSCALE_HOST_DEVICE void run(int phase, const Place& place, Shared& shared) const {
    const int lane = static_cast<int>(place.thread) % lanes;
    const std::int64_t plane =
        std::int64_t{place.x} * planes_of_team + static_cast<int>(place.thread) / lanes;
    float& sum = shared.sums[place.thread];
    if (phase == 0) {
      sum = 0;
      if (plane >= planes) return;
      for (int i = lane; i < pixels; i += lanes) sum += to_float(x[plane * pixels + i]);
    } else if (phase < phases - 1) {
      const int step = lanes >> phase;
      if (lane < step) sum += shared.sums[place.thread + static_cast<unsigned>(step)];
    } else if (lane == 0 && plane < planes) {
      y[plane] = from_float<T>(sum / static_cast<float>(pixels));
    }
  }
};

}  // namespace dlscale::backend::cuda
