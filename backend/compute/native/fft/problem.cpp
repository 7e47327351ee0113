#include "backend/compute/native/fft/problem.hpp"

#include <algorithm>
#include <array>

#include "core/base/error.hpp"

namespace dlscale::backend::native_device::spectral {

namespace {

/// Elements [first, first + count) of an axis, at points [point, point + count) of the plane.
struct Interval {
  std::int64_t first;
  std::int64_t count;
  std::int64_t point;
};

Interval interval(const Cut& cut, std::int64_t tile) {
  const std::int64_t wanted = tile * cut.step + cut.shift;
  const std::int64_t first = std::clamp<std::int64_t>(wanted, 0, cut.extent);
  const std::int64_t last = std::clamp<std::int64_t>(wanted + cut.span, first, cut.extent);
  return {first, last - first, first == last ? 0 : cut.at + first - wanted};
}

std::array<image_tiling::Axis, 2> axes_of(const ConvolutionShape& shape) {
  return {{{shape.height, shape.kernel_h, shape.out_height, shape.pad},
           {shape.width, shape.kernel_w, shape.out_width, shape.pad}}};
}

Planes transposed(Planes planes) {
  std::swap(planes.rows, planes.lanes);
  std::swap(planes.row_stride, planes.lane_stride);
  std::swap(planes.row_tiles, planes.lane_tiles);
  return planes;
}

}  // namespace

template <class Float>
Window<Float> Planes::window(Float* tensor, std::int64_t row, std::int64_t lane) const {
  const Tiles& tiles = row_tiles.count() > 1 ? row_tiles : lane_tiles;
  const std::int64_t tile = row / rows + lane / lanes;  // one of them is 0
  const Interval v = interval(y, tile / tiles.x);
  const Interval h = interval(x, tile % tiles.x);
  Float* plane = tensor + (row % rows) * row_stride + (lane % lanes) * lane_stride;
  if (v.count == 0 || h.count == 0) return {};
  return {plane + v.first * x.extent + h.first, x.extent, v.count, h.count, v.point, h.point};
}

template Window<const float> Planes::window(const float*, std::int64_t, std::int64_t) const;
template Window<float> Planes::window(float*, std::int64_t, std::int64_t) const;

Problem make_problem(const ConvolutionShape& shape, Pass pass, std::int64_t L, Tiling tiling) {
  EXPECT(shape.stride == 1 && shape.channels % shape.groups == 0);
  EXPECT(shape.out_height == shape.height + 2 * shape.pad - shape.kernel_h + 1);
  EXPECT(shape.out_width == shape.width + 2 * shape.pad - shape.kernel_w + 1);
  const std::int64_t N = shape.images, G = shape.groups;
  const std::int64_t C = shape.channels / G, K = shape.outputs / G;
  const std::int64_t input = shape.height * shape.width;
  const std::int64_t output = shape.out_height * shape.out_width;
  const std::int64_t kernel = shape.kernel_h * shape.kernel_w;
  const auto [vertical, horizontal] = axes_of(shape);
  const auto v = image_tiling::cut(vertical, pass, L, tiling);
  const auto h = image_tiling::cut(horizontal, pass, L, tiling);
  const Tiles tiles{v.tiles, h.tiles};
  const Planes w{C, kernel, K, C * kernel, K * C * kernel, v.w, h.w, {}, {}};     // C × K
  const Planes x{C, input, N, G * C * input, C * input, v.x, h.x, {}, tiles};     // C × tiles·N
  const Planes y{K, output, N, G * K * output, K * output, v.y, h.y, {}, tiles};  // K × tiles·N
  switch (pass) {
    case Pass::forward:
      return {L, G, Product::correlation, w, x, y, true};
    case Pass::backward_data:
      return {L, G, Product::convolution, transposed(w), y, x, true};
    case Pass::backward_filter:
      return {L, G, Product::correlation, transposed(y), transposed(x), transposed(w), false};
    case Pass::accumulate:
      break;
  }
  fail_expectation("pass != Pass::accumulate");
}

}  // namespace dlscale::backend::native_device::spectral
