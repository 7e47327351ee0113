// Convolutions of the backend as a whole: workspace, repeatability, bias.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "backend/compute/native/algorithms.hpp"
#include "backend/compute/native/convolution/operation.hpp"
#include "core/base/error.hpp"
#include "core/convolution/work.hpp"
#include "tests/backend/compute/layers.hpp"
#include "tests/backend/compute/native/plain_convolution.hpp"

namespace dlscale::backend::native_device {
namespace {

constexpr std::size_t alignment = 64;

TEST(NativeOperation, IsByTheAlgorithmForItsFilterItsChannelsAndItsTiles) {
  const auto usual = [](std::int64_t images, std::int64_t channels, std::int64_t size,
                        std::int64_t kernel, std::int64_t stride) {
    return usual_algorithm(
               shape_of(images, channels, size, size, 64, kernel, kernel, stride, kernel / 2))
        .name;
  };
  EXPECT_EQ(usual(4, 64, 13, 3, 1), "winograd_f2") << "64 tiles of 4 x 4";
  EXPECT_EQ(usual(5, 64, 13, 3, 1), "winograd_f4") << "80";
  EXPECT_EQ(usual(1, 64, 32, 3, 1), "winograd_f2") << "64 of one image";
  EXPECT_EQ(usual(1, 64, 33, 3, 1), "winograd_f4") << "81";
  EXPECT_EQ(usual(16, 64, 7, 3, 1), "winograd_f2");
  EXPECT_EQ(usual(17, 64, 7, 3, 1), "winograd_f4");
  EXPECT_EQ(usual(4, 8, 13, 3, 1), "im2col");
  EXPECT_EQ(usual(4, 64, 13, 3, 2), "im2col");
  EXPECT_EQ(usual(4, 64, 13, 5, 1), "im2col");
  EXPECT_EQ(usual(4, 64, 13, 7, 1), "fft_tiled");
}

TEST(NativeOperation, NeedsForAPassWhatItsAlgorithmNeeds) {
  for (const int threads : {1, 3}) {
    const auto device = family<ComputeBackend>().find("native")->open({.threads = threads});
    const OperationSpec spec = plain_spec(
        *device,
        make_layer(Convolution{.out_channels = 64, .kernel_h = 3, .kernel_w = 3, .pad = 1},
                   {{64, 56, 56}}),
        4, DType::f32);
    const ConvolutionShape shape = shape_of(4, 64, 56, 56, 64, 3, 3, 1, 1);
    for (const ConvolutionAlgorithm* algorithm : own_algorithms()) {
      for (const Pass pass : convolution_passes) {
        const auto all = device->algorithms(spec, pass);
        const auto found = std::ranges::find(all, algorithm->name, &Algorithm::name);
        ASSERT_NE(found, all.end());
        const auto made = found->create();
        const lowering::AlgorithmWork work = lowering::algorithm_work(
            lowering::parse_method(algorithm->name), shape, pass,
            {.threads = threads,
             .vector_floats = lowering::vector_floats(made->implementation(pass))});
        EXPECT_EQ(static_cast<double>(made->pass_scratch_bytes(pass)),
                  work.workspace.si() + static_cast<double>(alignment))
            << algorithm->name << " " << pass_name(pass) << ", " << threads << " threads";
        for (const Pass any : convolution_passes) {
          EXPECT_GE(made->scratch_bytes(), made->pass_scratch_bytes(any));
        }
      }
    }
  }
}

/// x, w and y of a shape, in the order of a pass.
struct PassOperands {
  std::vector<float> first, second;
  std::size_t results;
};

PassOperands operands_of(const ConvolutionShape& shape, Pass pass) {
  const auto x = static_cast<std::int64_t>(shape.input_elements());
  const auto w = static_cast<std::int64_t>(shape.weight_elements());
  const auto y = static_cast<std::int64_t>(shape.output_elements());
  const auto made = [](std::int64_t first, std::int64_t second, std::int64_t result) {
    return PassOperands{shuffled(first, 1), shuffled(second, 2), static_cast<std::size_t>(result)};
  };
  if (pass == Pass::forward) return made(x, w, y);
  return pass == Pass::backward_data ? made(y, w, x) : made(x, y, w);
}

std::vector<float> result_of(ConvolutionPass& pass, const PassOperands& operands) {
  std::vector<float> result(operands.results);
  Guarded scratch(pass.scratch_bytes());
  pass.run(operands.first.data(), operands.second.data(), result.data(), scratch.data());
  return result;
}

TEST(NativeOperation, GivesTheSameAnswerEveryTime) {
  // Of im2col four blocks of three images, of fused Winograd several for each thread.
  const ConvolutionShape shape = shape_of(12, 32, 30, 30, 8, 3, 3, 1, 1);
  for (const Pass pass : convolution_passes) {
    const PassOperands operands = operands_of(shape, pass);
    for (const ConvolutionAlgorithm* algorithm : own_algorithms()) {
      for (const int threads : {2, 4}) {
        const auto made = algorithm->make(shape, pass, threads);
        const std::vector<float> once = result_of(*made, operands);
        for (int again = 0; again < 3; ++again) {
          const std::vector<float> more = result_of(*made, operands);
          EXPECT_EQ(std::memcmp(once.data(), more.data(), once.size() * sizeof(float)), 0)
              << algorithm->name << " " << pass_name(pass) << ", " << threads << " threads";
        }
      }
    }
  }
}

TEST(OutputPlanes, SumTheGradientOfABias) {
  // 1.0001 and more a pixel of 112 x 112, where every rounding goes the same way.
  const ConvolutionShape shape = shape_of(3, 1, 112, 112, 5, 1, 1, 1, 0);
  const std::int64_t pixels = 112 * 112;
  std::vector<float> dy(static_cast<std::size_t>(3 * 5 * pixels));
  for (std::size_t i = 0; i < dy.size(); ++i) {
    dy[i] = static_cast<float>(i / static_cast<std::size_t>(pixels) % 5) + 1.0001F;
  }
  std::vector<std::vector<float>> gradients;
  for (const int threads : {1, 2, 4}) {
    gradients.emplace_back(5);
    sum_bias(shape, dy.data(), gradients.back().data(), threads);
    for (int k = 0; k < 5; ++k) {
      const double expected =
          3.0 * static_cast<double>(pixels) * static_cast<double>(static_cast<float>(k) + 1.0001F);
      EXPECT_NEAR(gradients.back()[static_cast<std::size_t>(k)], expected, 1e-5 * expected) << k;
    }
    EXPECT_EQ(gradients.back(), gradients.front()) << threads << " threads";
  }
}

TEST(OutputPlanes, SumWhatFillsNoVector) {
  const ConvolutionShape shape = shape_of(2, 1, 1, 19, 2, 1, 1, 1, 0);
  std::vector<float> dy(2 * 2 * 19);
  for (std::size_t i = 0; i < dy.size(); ++i) dy[i] = static_cast<float>(i);
  std::array<float, 2> gradient{};
  sum_bias(shape, dy.data(), gradient.data(), 2);
  EXPECT_EQ(gradient[0], 18 * 19 / 2 + 38 * 19 + 18 * 19 / 2);
  EXPECT_EQ(gradient[1], 19 * 19 + 18 * 19 / 2 + 57 * 19 + 18 * 19 / 2);
}

TEST(OutputPlanes, AddTheBiasOfTheirChannelAndMask) {
  const ConvolutionShape shape = shape_of(2, 1, 3, 7, 2, 1, 1, 1, 0);
  const std::array<float, 2> bias{1, -1};
  for (const int threads : {1, 3}) {
    std::vector<float> y(2 * 2 * 21, 0.5F);
    add_bias(shape, bias.data(), y.data(), threads);
    const auto channel = [](std::size_t i) { return i / 21 % 2; };
    for (std::size_t i = 0; i < y.size(); ++i) EXPECT_EQ(y[i], channel(i) == 0 ? 1.5F : -0.5F) << i;
    std::vector<float> rectified(y.size(), 0.5F);
    add_bias_and_rectify(shape, bias.data(), rectified.data(), threads);
    std::vector<float> dy(y.size(), 2);
    mask_gradient(shape, rectified.data(), dy.data(), threads);
    for (std::size_t i = 0; i < y.size(); ++i) {
      EXPECT_EQ(rectified[i], std::max(y[i], 0.0F)) << i;
      EXPECT_EQ(dy[i], channel(i) == 0 ? 2.0F : 0.0F) << i;
    }
    std::vector<float> without(y);
    add_bias_and_rectify(shape, nullptr, without.data(), threads);
    EXPECT_EQ(without, rectified);
  }
}

}  // namespace
}  // namespace dlscale::backend::native_device
