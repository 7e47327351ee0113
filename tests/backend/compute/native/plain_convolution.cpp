#include "tests/backend/compute/native/plain_convolution.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include "backend/compute/precision.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend::native_device {
namespace {

std::vector<float> normal(std::int64_t elements, DType dtype, std::mt19937& random) {
  std::normal_distribution<float> distribution;
  std::vector<float> values(static_cast<std::size_t>(elements));
  std::ranges::generate(values, [&] { return rounded(dtype, distribution(random)); });
  return values;
}

/// The products of one element of the filters with one row of the map: elements of x from `in` on,
/// `stride` apart, and as many of y side by side from `out` on.
struct Row {
  std::int64_t in, weight, out, length;
};

/// Calls visit(row) for all products of the convolution, which are not taken one by one because
/// that takes minutes.
template <class Visit>
void for_each_row(const ConvolutionShape& shape, const Visit& visit) {
  const std::int64_t channels = shape.channels / shape.groups;
  const std::int64_t outputs = shape.outputs / shape.groups;
  const auto tap = [&](std::int64_t n, std::int64_t k, std::int64_t c, std::int64_t r,
                       std::int64_t s) {
    const std::int64_t in = n * shape.channels + k / outputs * channels + c;
    const std::int64_t weight = ((k * channels + c) * shape.kernel_h + r) * shape.kernel_w + s;
    std::int64_t first = 0;  // the first q and the one behind the last that are inside of x
    while (first < shape.out_width && first * shape.stride + s < shape.pad) ++first;
    std::int64_t end = shape.out_width;
    while (end > first && (end - 1) * shape.stride + s - shape.pad >= shape.width) --end;
    for (std::int64_t p = 0; p < shape.out_height && first < end; ++p) {
      const std::int64_t h = p * shape.stride + r - shape.pad;
      if (h < 0 || h >= shape.height) continue;
      visit(Row{.in = (in * shape.height + h) * shape.width + first * shape.stride + s - shape.pad,
                .weight = weight,
                .out = ((n * shape.outputs + k) * shape.out_height + p) * shape.out_width + first,
                .length = end - first});
    }
  };
  for (std::int64_t n = 0; n < shape.images; ++n) {
    for (std::int64_t k = 0; k < shape.outputs; ++k) {
      for (std::int64_t c = 0; c < channels; ++c) {
        for (std::int64_t r = 0; r < shape.kernel_h; ++r) {
          for (std::int64_t s = 0; s < shape.kernel_w; ++s) tap(n, k, c, r, s);
        }
      }
    }
  }
}

}  // namespace

ConvolutionShape shape_of(std::int64_t images, std::int64_t channels, std::int64_t height,
                          std::int64_t width, std::int64_t outputs, std::int64_t kernel_h,
                          std::int64_t kernel_w, std::int64_t stride, std::int64_t pad,
                          std::int64_t groups) {
  return {.images = images,
          .channels = channels,
          .height = height,
          .width = width,
          .outputs = outputs,
          .out_height = (height + 2 * pad - kernel_h) / stride + 1,
          .out_width = (width + 2 * pad - kernel_w) / stride + 1,
          .kernel_h = kernel_h,
          .kernel_w = kernel_w,
          .stride = stride,
          .pad = pad,
          .groups = groups};
}

PassData pass_data(const ConvolutionShape& shape, Pass pass, DType dtype) {
  std::mt19937 random(1);
  const auto x = normal(shape.images * shape.channels * shape.height * shape.width, dtype, random);
  const auto w =
      normal(shape.outputs * (shape.channels / shape.groups) * shape.kernel_h * shape.kernel_w,
             dtype, random);
  const auto dy =
      normal(shape.images * shape.outputs * shape.out_height * shape.out_width, dtype, random);
  std::vector<double> sums((pass == Pass::forward         ? dy
                            : pass == Pass::backward_data ? x
                                                          : w)
                               .size());
  for_each_row(shape, [&](const Row& row) {
    for (std::int64_t i = 0; i < row.length; ++i) {
      const auto in = static_cast<std::size_t>(row.in + i * shape.stride);
      const auto out = static_cast<std::size_t>(row.out + i);
      const auto weight = static_cast<std::size_t>(row.weight);
      if (pass == Pass::forward) sums[out] += double{x[in]} * double{w[weight]};
      if (pass == Pass::backward_data) sums[in] += double{dy[out]} * double{w[weight]};
      if (pass == Pass::backward_filter) sums[weight] += double{x[in]} * double{dy[out]};
    }
  });
  return {pass == Pass::backward_data ? dy : x, pass == Pass::backward_filter ? dy : w,
          std::move(sums)};
}

double relative_error(std::span<const float> a, std::span<const double> b) {
  EXPECT_EQ(a.size(), b.size());
  double squares = 0;
  double worst = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    const double off = std::abs(double{a[i]} - b[i]);
    if (!std::isfinite(off)) return HUGE_VAL;
    worst = std::max(worst, off);
    squares += b[i] * b[i];
  }
  if (worst == 0) return 0;
  return worst / std::sqrt(squares / static_cast<double>(b.size()));
}

double error_of(ConvolutionPass& pass, const PassData& data) {
  Guarded scratch(pass.scratch_bytes());
  Guarded result(data.result.size() * sizeof(float));
  double worst = 0;
  for (int time = 0; time < 2; ++time) {
    pass.run(data.first.data(), data.second.data(), result.floats(), scratch.data());
    EXPECT_TRUE(scratch.intact()) << "wrote beyond its scratch";
    EXPECT_TRUE(result.intact()) << "wrote beyond its result";
    worst = std::max(worst, relative_error({result.floats(), data.result.size()}, data.result));
  }
  return worst;
}

std::string refusal_of(const ConvolutionAlgorithm& algorithm, const ConvolutionShape& shape,
                       Pass pass, int threads) {
  try {
    (void)algorithm.make(shape, pass, threads);
    return "";
  } catch (const Unsupported& refusal) {
    return refusal.what();
  }
}

}  // namespace dlscale::backend::native_device
