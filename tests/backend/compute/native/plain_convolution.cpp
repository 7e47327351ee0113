#include "tests/backend/compute/native/plain_convolution.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "backend/compute/buffer.hpp"

namespace dlscale::backend::native_device {
namespace {

std::vector<float> normal(std::int64_t elements, std::mt19937& random) {
  std::normal_distribution<float> distribution;
  std::vector<float> values(static_cast<std::size_t>(elements));
  std::ranges::generate(values, [&] { return distribution(random); });
  return values;
}

/// Calls visit(place in x, place in w, place in y) for every product of the convolution.
template <class Visit>
void for_each_product(const ConvolutionShape& shape, const Visit& visit) {
  const std::int64_t channels = shape.channels / shape.groups;
  const std::int64_t outputs = shape.outputs / shape.groups;
  const auto tap = [&](std::int64_t n, std::int64_t k, std::int64_t c, std::int64_t r,
                       std::int64_t s) {
    const std::int64_t in = n * shape.channels + k / outputs * channels + c;
    const std::int64_t weight = ((k * channels + c) * shape.kernel_h + r) * shape.kernel_w + s;
    for (std::int64_t p = 0; p < shape.out_height; ++p) {
      const std::int64_t h = p * shape.stride + r - shape.pad;
      for (std::int64_t q = 0; q < shape.out_width; ++q) {
        const std::int64_t w = q * shape.stride + s - shape.pad;
        if (h < 0 || h >= shape.height || w < 0 || w >= shape.width) continue;
        visit((in * shape.height + h) * shape.width + w, weight,
              ((n * shape.outputs + k) * shape.out_height + p) * shape.out_width + q);
      }
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

double product(const std::vector<float>& a, std::int64_t i, const std::vector<float>& b,
               std::int64_t j) {
  return double{a[static_cast<std::size_t>(i)]} * double{b[static_cast<std::size_t>(j)]};
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

Tensors::Tensors(const ConvolutionShape& shape, unsigned seed) {
  std::mt19937 random(seed);
  x = normal(shape.images * shape.channels * shape.height * shape.width, random);
  w = normal(shape.outputs * (shape.channels / shape.groups) * shape.kernel_h * shape.kernel_w,
             random);
  dy = normal(shape.images * shape.outputs * shape.out_height * shape.out_width, random);
}

std::vector<double> plain_pass(const ConvolutionShape& shape, Pass pass, const Tensors& tensors) {
  const auto& [x, w, dy] = tensors;
  const auto& like = pass == Pass::forward ? dy : pass == Pass::backward_data ? x : w;
  std::vector<double> result(like.size());
  for_each_product(shape, [&](std::int64_t in, std::int64_t weight, std::int64_t out) {
    if (pass == Pass::forward) {
      result[static_cast<std::size_t>(out)] += product(tensors.x, in, tensors.w, weight);
    } else if (pass == Pass::backward_data) {
      result[static_cast<std::size_t>(in)] += product(tensors.dy, out, tensors.w, weight);
    } else {
      result[static_cast<std::size_t>(weight)] += product(tensors.dy, out, tensors.x, in);
    }
  });
  return result;
}

std::vector<float> run_pass(const ConvolutionAlgorithm& algorithm, const ConvolutionShape& shape,
                            Pass pass, const Tensors& tensors, int threads) {
  constexpr std::size_t guard = 64;
  constexpr auto untouched = std::byte{0x5A};
  const auto& [x, w, dy] = tensors;
  const bool forward = pass == Pass::forward;
  const auto& first = pass == Pass::backward_data ? dy : x;
  const auto& second = pass == Pass::backward_filter ? dy : w;
  const auto& like = forward ? dy : pass == Pass::backward_data ? x : w;
  std::vector<float> result(like.size(), std::numeric_limits<float>::quiet_NaN());
  const auto made = algorithm.make(shape, pass, threads);
  const std::size_t bytes = made->scratch_bytes();
  const Buffer memory = allocate_host(bytes + 2 * guard);
  std::fill_n(memory.get(), bytes + 2 * guard, untouched);
  auto* scratch = memory.get() + guard;
  std::fill_n(scratch, bytes, std::byte{0xFF});  // as f32 a NaN
  made->run(first.data(), second.data(), result.data(), scratch);
  const auto intact = [](std::byte value) { return value == untouched; };
  EXPECT_TRUE(std::all_of(memory.get(), scratch, intact)) << "wrote before its scratch";
  EXPECT_TRUE(std::all_of(scratch + bytes, scratch + bytes + guard, intact))
      << "wrote beyond its scratch";
  return result;
}

double relative_error(const std::vector<float>& a, const std::vector<double>& b) {
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

}  // namespace dlscale::backend::native_device
