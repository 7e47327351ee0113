#include "backend/compute/native/convolution/output_planes.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "backend/compute/native/convolution/workers.hpp"

namespace dlscale::backend::native_device {
namespace {

std::int64_t pixels_of(const ConvolutionShape& shape) {
  return shape.out_height * shape.out_width;
}

/// Calls visit(plane, its first element) for every plane of every image.
template <class Visit>
void for_each_plane(const ConvolutionShape& shape, int threads, const Visit& visit) {
  const std::int64_t pixels = pixels_of(shape);
  parallel_for(threads, shape.images * shape.outputs,
               [&](std::int64_t plane, int /*thread*/) { visit(plane, plane * pixels); });
}

/// Sixteen sums, which fill vectors; a single one would wait for itself at every addition.
double sum_of(const float* values, std::int64_t count) {
  constexpr std::int64_t sums = 16;
  std::array<float, sums> partial{};
  std::int64_t i = 0;
  for (; i + sums <= count; i += sums) {
    for (std::int64_t j = 0; j < sums; ++j) partial[static_cast<std::size_t>(j)] += values[i + j];
  }
  const double whole = std::accumulate(partial.begin(), partial.end(), 0.0);
  return std::accumulate(values + i, values + count, whole);
}

}  // namespace

void add_bias(const ConvolutionShape& shape, const float* bias, float* y, int threads) {
  for_each_plane(shape, threads, [&](std::int64_t plane, std::int64_t first) {
    const float b = bias[plane % shape.outputs];
    float* const row = y + first;
    for (std::int64_t i = 0; i < pixels_of(shape); ++i) row[i] += b;
  });
}

void add_bias_and_rectify(const ConvolutionShape& shape, const float* bias, float* y, int threads) {
  for_each_plane(shape, threads, [&](std::int64_t plane, std::int64_t first) {
    const float b = bias == nullptr ? 0 : bias[plane % shape.outputs];
    float* const row = y + first;
    for (std::int64_t i = 0; i < pixels_of(shape); ++i) row[i] = std::max(row[i] + b, 0.0F);
  });
}

void mask_gradient(const ConvolutionShape& shape, const float* y, float* dy, int threads) {
  for_each_plane(shape, threads, [&](std::int64_t /*plane*/, std::int64_t first) {
    const float* const outputs = y + first;
    float* const gradients = dy + first;
    for (std::int64_t i = 0; i < pixels_of(shape); ++i) {
      gradients[i] = outputs[i] > 0 ? gradients[i] : 0;
    }
  });
}

void sum_bias(const ConvolutionShape& shape, const float* dy, float* gradient, int threads) {
  const std::int64_t pixels = pixels_of(shape);
  parallel_for(threads, shape.outputs, [&](std::int64_t k, int /*thread*/) {
    double sum = 0;
    for (std::int64_t n = 0; n < shape.images; ++n) {
      sum += sum_of(dy + (n * shape.outputs + k) * pixels, pixels);
    }
    gradient[k] = static_cast<float>(sum);
  });
}

}  // namespace dlscale::backend::native_device
