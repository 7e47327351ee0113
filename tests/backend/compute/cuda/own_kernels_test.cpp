#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "backend/compute/check/operation_memory.hpp"
#include "backend/compute/compute.hpp"
#include "backend/compute/cuda/kernels/batch_norm_operation.hpp"
#include "backend/compute/cuda/kernels/bias.hpp"
#include "backend/compute/cuda/kernels/elementwise.hpp"
#include "backend/compute/cuda/kernels/pictures.hpp"
#include "backend/compute/cuda/kernels/transpose.hpp"
#include "backend/compute/cuda/kernels/update.hpp"
#include "backend/compute/precision.hpp"
#include "tests/backend/compute/cuda/host_tensor.hpp"
#include "tests/backend/compute/cuda/loop_device.hpp"
#include "tests/backend/compute/cuda/loop_launcher.hpp"
#include "tests/backend/compute/layers.hpp"

/// Our own kernels that are no layers, run by loops on the host, against plain formulas.
namespace dlscale::backend::cuda {
namespace {

TEST(Convert, MovesEveryElementBetweenAllOrdersAndPrecisions) {
  for (const Dims& dims : shapes) {
    const Values values = shuffled(dims[0] * dims[1] * dims[2] * dims[3], 1);
    for (const DType from : all_dtypes) {
      for (const DType to : all_dtypes) {
        const Values expected = stored(to, stored(from, values));
        for (const Order order : both_orders) {
          HostTensor source(dims, from, order);
          source.set(values);
          for (const Order other : both_orders) {
            const HostTensor target(dims, to, other);
            launch_convert(LoopLauncher(), source.tensor(), target.tensor());
            ASSERT_EQ(target.get(), expected)
                << dtype_name(from) << " to " << dtype_name(to) << " of " << dims[1] << " channels";
          }
        }
      }
    }
  }
}

TEST(Convert, MovesWhatIsNotAligned) {
  const Buffer memory = allocate_host(4096);
  auto* from = reinterpret_cast<float*>(memory.get()) + 1;
  auto* to = reinterpret_cast<std::uint16_t*>(memory.get() + 2048) + 1;
  for (int i = 0; i < 301; ++i) from[i] = static_cast<float>(i);
  const Dims dims{301, 1, 1, 1};
  launch_convert(LoopLauncher(),
                 {tensor_desc(dims, DType::f32, Order::nchw), reinterpret_cast<std::byte*>(from)},
                 {tensor_desc(dims, DType::f16, Order::nchw), reinterpret_cast<std::byte*>(to)});
  for (int i = 0; i < 301; ++i) EXPECT_EQ(from_half(to[i]), static_cast<float>(i));
  EXPECT_EQ(to[301], 0);
  EXPECT_EQ(to[-1], 0);
}

TEST(Convert, RefusesTensorsOfDifferentSize) {
  const HostTensor a({1, 2, 3, 4}, DType::f32, Order::nchw);
  const HostTensor b({1, 2, 3, 5}, DType::f32, Order::nchw);
  EXPECT_THROW(launch_convert(LoopLauncher(), a.tensor(), b.tensor()), std::logic_error);
}

TEST(Accumulate, AddsInF32AndRoundsOnce) {
  for (const DType dtype : all_dtypes) {
    HostTensor value({2, 17, 3, 7}, dtype, Order::nhwc);
    HostTensor into({2, 17, 3, 7}, dtype, Order::nhwc);
    const Values a = stored(dtype, shuffled(std::int64_t{2} * 17 * 21, 1));
    const Values b = stored(dtype, shuffled(std::int64_t{2} * 17 * 21, 2));
    value.set(a);
    into.set(b);
    launch_accumulate(LoopLauncher(), value.tensor(), into.tensor());
    Values sums(a.size());
    for (std::size_t i = 0; i < a.size(); ++i) sums[i] = stored(dtype, a[i] + b[i]);
    EXPECT_EQ(into.get(), sums);
  }
}

TEST(Update, KeepsALowerCopyOfTheWeights) {
  const SgdStep step{.rate = 0.1F, .momentum = 0.9F, .weight_decay = 0.01F, .gradient_scale = 0.5F};
  for (const DType low_dtype : {DType::bf16, DType::f16}) {
    for (const std::size_t n : {1U, 4U, 1027U}) {
      Values weights = shuffled(static_cast<std::int64_t>(n), 1);
      const Values gradients = shuffled(static_cast<std::int64_t>(n), 2);
      Values momentum = shuffled(static_cast<std::int64_t>(n), 3);
      const Values weights_before = weights;
      const Values momentum_before = momentum;
      std::vector<std::uint16_t> low(n + 1, 0x1234);
      launch_update(LoopLauncher(), step, n, weights.data(), gradients.data(), momentum.data(),
                    low.data(), low_dtype);
      for (std::size_t i = 0; i < n; ++i) {
        const double v = 0.9 * momentum_before[i] + gradients[i] * 0.5 + 0.01 * weights_before[i];
        EXPECT_NEAR(momentum[i], v, 1e-6);
        EXPECT_NEAR(weights[i], weights_before[i] - 0.1 * v, 1e-6);
        EXPECT_EQ(low[i], low_dtype == DType::bf16 ? to_bfloat16(weights[i]) : to_half(weights[i]));
      }
      EXPECT_EQ(low[n], 0x1234);
    }
  }
}

TEST(Update, NeedsNoLowerCopy) {
  Values weights(5, 1.0F);
  const Values gradients(5, 2.0F);
  Values momentum(5, 0.0F);
  launch_update(LoopLauncher(), {.rate = 0.5F, .momentum = 0, .weight_decay = 0}, 5, weights.data(),
                gradients.data(), momentum.data(), nullptr, DType::bf16);
  EXPECT_EQ(weights, Values(5, 0.0F));
}

TEST(Touch, LeavesEveryByteAsItIs) {
  for (const std::size_t bytes : {1U, 7U, 8U, 4099U, 40000U}) {
    const Buffer memory = allocate_host(bytes);
    for (std::size_t i = 0; i < bytes; ++i) memory[i] = static_cast<std::byte>(i * 31 % 251);
    const Touch code{memory.get(), bytes};
    LoopLauncher().each("touch", code, code.threads());
    for (std::size_t i = 0; i < bytes; ++i) {
      ASSERT_EQ(memory[i], static_cast<std::byte>(i * 31 % 251));
    }
  }
}

using OfChannels = InDTypeAndOrder;

TEST_P(OfChannels, AddsABiasAndRectifies) {
  for (const Dims& dims : shapes) {
    HostTensor tensor(dims, dtype_, order_);
    const Values x = stored(dtype_, shuffled(tensor.tensor().desc.elements(), 1));
    const Buffer memory = allocate_host(static_cast<std::size_t>(dims[1]) * sizeof(float));
    auto* bias = reinterpret_cast<float*>(memory.get());
    std::copy_n(shuffled(dims[1], 2).begin(), dims[1], bias);
    Values expected;
    std::size_t i = 0;
    tensor.for_each([&](auto, std::int64_t c, auto, auto) {
      expected.push_back(stored(dtype_, x[i++] + bias[c]));
    });
    tensor.set(x);
    launch_bias<Then::nothing>(LoopLauncher(), bias, tensor.tensor());
    EXPECT_EQ(tensor.get(), expected);
    tensor.set(x);
    launch_bias<Then::relu>(LoopLauncher(), bias, tensor.tensor());
    for (float& value : expected) value = std::max(value, 0.0F);
    EXPECT_EQ(tensor.get(), expected);
  }
}

TEST_P(OfChannels, SumTheGradientOfABias) {
  for (const Dims& dims : shapes) {
    HostTensor gradient(dims, dtype_, order_);
    const Values dy = stored(dtype_, shuffled(gradient.tensor().desc.elements(), 3));
    gradient.set(dy);
    std::vector<double> expected(static_cast<std::size_t>(dims[1]));
    std::size_t i = 0;
    gradient.for_each([&](auto, std::int64_t c, auto, auto) { expected[c] += dy[i++]; });
    const Buffer scratch =
        allocate_host(partial_bytes(dims[1], LoopLauncher().processors(), sizeof(BiasSums)));
    Values got(expected.size(), 7.0F);
    launch_bias_gradient(LoopLauncher(), gradient.tensor(), got.data(), scratch.get());
    for (std::size_t c = 0; c < got.size(); ++c) EXPECT_NEAR(got[c], expected[c], 1e-4);
  }
}

TEST_P(OfChannels, SumTermsAndRectify) {
  for (const std::size_t terms : {1U, 2U, 3U, 5U}) {
    std::vector<HostTensor> inputs;
    std::vector<Tensor> tensors;
    constexpr std::int64_t size = std::int64_t{2} * 17 * 12;
    Values sums(size);
    for (std::size_t k = 0; k < terms; ++k) {
      HostTensor& input = inputs.emplace_back(Dims{2, 17, 4, 3}, dtype_, order_);
      const Values x = stored(dtype_, shuffled(size, static_cast<unsigned>(k)));
      input.set(x);
      tensors.push_back(input.tensor());
      for (std::size_t i = 0; i < x.size(); ++i) sums[i] += x[i];
    }
    const HostTensor output({2, 17, 4, 3}, dtype_, order_);
    launch_sum(LoopLauncher(), "", tensors, output.tensor(), AddedAndRectified{}, Rectified{});
    for (float& sum : sums) sum = std::max(stored(dtype_, sum), 0.0F);
    EXPECT_EQ(output.get(), sums);
  }
}

TEST_P(OfChannels, NormalisePictures) {
  const PictureStatistics statistics{{0.485F, 0.456F, 0.406F}, {0.229F, 0.224F, 0.225F}};
  for (const Dims& dims : {Dims{2, 3, 8, 6}, Dims{2, 3, 7, 5}}) {
    const HostTensor to(dims, dtype_, order_);
    const std::int64_t pixels = dims[2] * dims[3];
    const Buffer memory = allocate_host(static_cast<std::size_t>(dims[0] * pixels * 3));
    const auto* pictures = reinterpret_cast<std::uint8_t*>(memory.get());
    for (std::int64_t i = 0; i < dims[0] * pixels * 3; ++i) {
      memory[i] = static_cast<std::byte>(i * 37 % 256);
    }
    launch_normalisation(LoopLauncher(), pictures, statistics, to.tensor());
    const Values got = to.get();
    std::size_t at = 0;
    to.for_each([&](std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w) {
      const int value = pictures[((n * dims[2] + h) * dims[3] + w) * 3 + c];
      const double exact =
          (value / 255.0 - double{statistics.mean[c]}) / double{statistics.deviation[c]};
      const double unit = dtype_ == DType::bf16 ? 0x1p-8 : dtype_ == DType::f16 ? 0x1p-11 : 1e-6;
      EXPECT_NEAR(got[at++], exact, std::max(unit * std::abs(exact), 1e-6));
    });
  }
}

/// A batch norm and a ReLU as two operations on the same numbers.
TEST_P(OfChannels, NormaliseAndRectifyAsTwoOperationsDo) {
  const auto device = make_loop_device(order_);
  for (const int channels : {24, 17}) {
    const Layer layer = make_layer(BatchNorm{}, {{channels, 6, 8}});
    const TensorDesc input = tensor_desc({3, channels, 6, 8}, dtype_, order_);
    const OperationSpec spec{layer, 3, dtype_, {input}};
    const OperationSpec relu_spec{make_layer(Relu{}, {{channels, 6, 8}}), 3, dtype_, {input}};
    const auto fused = make_batch_norm_relu_on_loops(spec, order_);
    const auto norm = device->create(spec);
    const auto relu = device->create(relu_spec);
    OperationMemory together(*device, spec, *fused);
    OperationMemory first(*device, spec, *norm);
    OperationMemory second(*device, relu_spec, *relu);
    const std::int64_t size = input.elements();
    for (const OperationMemory* memory : {&together, &first}) {
      write(*device, shuffled(size, 1), memory->inputs()[0]);
      write(*device, shuffled(channels, 2), memory->parameters()[0]);
      write(*device, shuffled(channels, 3), memory->parameters()[1]);
    }
    write(*device, shuffled(size, 4), together.output_gradient());
    write(*device, shuffled(size, 4), second.output_gradient());

    fused->run(Pass::forward, together.operands(0));
    fused->run(Pass::backward_data, together.operands(0));
    norm->run(Pass::forward, first.operands(0));
    device->copy(first.output(), second.inputs()[0]);
    relu->run(Pass::forward, second.operands(0));
    relu->run(Pass::backward_data, second.operands(0));
    device->copy(second.input_gradients()[0], first.output_gradient());
    norm->run(Pass::backward_data, first.operands(0));

    EXPECT_EQ(read(*device, together.output()), read(*device, second.output()));
    EXPECT_EQ(read(*device, together.input_gradients()[0]),
              read(*device, first.input_gradients()[0]));
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(read(*device, together.parameter_gradients()[i]),
                read(*device, first.parameter_gradients()[i]));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, OfChannels, InDTypeAndOrder::all(), InDTypeAndOrder::name);

class BatchNorms : public testing::TestWithParam<Order> {};

/// Of numbers around 10 000 the digits of f32 leave a thousandth of the deviation.
TEST_P(BatchNorms, NormaliseAroundALargeMean) {
  const Order order = GetParam();
  const auto device = make_loop_device(order);
  const Dims dims{8, 8, 20, 24};
  const TensorDesc input = tensor_desc(dims, DType::f32, order);
  const OperationSpec spec{make_layer(BatchNorm{}, {{8, 20, 24}}), 8, DType::f32, {input}};
  const auto norm = device->create(spec);
  OperationMemory memory(*device, spec, *norm);
  Values x = shuffled(input.elements(), 1);
  for (float& value : x) value += 10000.0F;
  write(*device, x, memory.inputs()[0]);
  write(*device, Values(8, 1.0F), memory.parameters()[0]);
  norm->run(Pass::forward, memory.operands(0));
  const Values y = read(*device, memory.output());
  for (std::size_t c = 0; c < 8; ++c) {
    double sum = 0;
    double squares = 0;
    for (std::size_t i = 0; i < std::size_t{8} * 480; ++i) {
      const double value = y[(i / 480 * 8 + c) * 480 + i % 480];
      sum += value;
      squares += value * value;
    }
    EXPECT_NEAR(sum / 3840, 0, 2e-3);
    EXPECT_NEAR(squares / 3840, 1, 2e-3);
  }
}

INSTANTIATE_TEST_SUITE_P(All, BatchNorms, testing::ValuesIn(both_orders), [](const auto& tested) {
  return tested.param == Order::nchw ? "nchw" : "nhwc";
});

TEST(MaxPooling, ShowsWhatIsNotANumber) {
  const auto device = make_loop_device(Order::nhwc);
  const Pooling kind{.kind = PoolingKind::max, .kernel_h = 2, .kernel_w = 2, .stride = 2};
  const OperationSpec spec{make_layer(kind, {{8, 2, 2}}),
                           1,
                           DType::f32,
                           {tensor_desc({1, 8, 2, 2}, DType::f32, Order::nhwc)}};
  const auto pooling = device->create(spec);
  OperationMemory memory(*device, spec, *pooling);
  Values x(32, 1.0F);
  x[2] = std::numeric_limits<float>::quiet_NaN();
  write(*device, x, memory.inputs()[0]);
  pooling->run(Pass::forward, memory.operands(0));
  const Values y = read(*device, memory.output());
  EXPECT_TRUE(std::isnan(y[0]));
  EXPECT_EQ(y[1], 1.0F);
}

TEST(Loss, OfLargeNumbersDoesNotOverflow) {
  const auto device = make_loop_device(Order::nhwc);
  const OperationSpec spec{make_layer(SoftmaxCrossEntropy{}, {{600, 1, 1}}),
                           1,
                           DType::f32,
                           {tensor_desc({1, 600, 1, 1}, DType::f32, Order::nhwc)}};
  const auto loss = device->create(spec);
  OperationMemory memory(*device, spec, *loss);
  Values x(600, -1e30F);
  x[3] = 1000;
  x[599] = 1000;
  write(*device, x, memory.inputs()[0]);
  memory.labels() = {599};
  loss->run(Pass::forward, memory.operands(0));
  EXPECT_NEAR(read(*device, memory.output())[0], std::log(2.0), 1e-5);
  loss->run(Pass::backward_data, memory.operands(0));
  const Values dx = read(*device, memory.input_gradients()[0]);
  EXPECT_NEAR(dx[3], 0.5, 1e-6);
  EXPECT_NEAR(dx[599], -0.5, 1e-6);
  EXPECT_EQ(dx[0], 0);
  memory.labels() = {600};
  EXPECT_THROW(loss->run(Pass::forward, memory.operands(0)), std::logic_error);
}

TEST(Divisor, DividesAsTheProcessorDoes) {
  std::mt19937 random(1);
  std::vector<std::uint32_t> numbers{0, 1, 2, 3, 6, 7, 255, 256, 65535, 65536, (1U << 31) - 1};
  for (int i = 0; i < 200; ++i) numbers.push_back(static_cast<std::uint32_t>(random() >> 1));
  for (int bits = 1; bits < 31; ++bits) numbers.push_back((1U << bits) + 1);
  for (const std::uint32_t d : numbers) {
    if (d == 0) continue;
    const Divisor divisor(d);
    for (std::uint32_t n : numbers) {
      for (const std::uint32_t near : {n, n / d * d, n / d * d + d - 1}) {
        if (near >= 1U << 31) continue;
        const auto [quotient, remainder] = divisor.split(near);
        ASSERT_EQ(quotient, near / d) << near << " / " << d;
        ASSERT_EQ(remainder, near % d);
      }
    }
  }
  EXPECT_EQ(Divisor(std::int64_t{1} << 31).quotient((1U << 31) - 1), 0U);
  EXPECT_THROW(Divisor(0), std::logic_error);
}

TEST(Tilings, CoverAllUnitsOnceAndFitTheirMemory) {
  for (const std::uint32_t groups : {1U, 3U, 8U, 12U, 36U, 256U, 1000U}) {
    for (const std::uint32_t units : {1U, 7U, 49U, 3136U, 100352U}) {
      for (const int processors : {1, 16, 132}) {
        for (const std::uint32_t least : {1U, 8U}) {
          const Tiling tiling(groups, units, least, processors);
          EXPECT_GE(tiling.groups * tiling.teams, groups);
          EXPECT_LT(tiling.groups * (tiling.teams - 1), groups);
          EXPECT_GE(std::uint64_t{tiling.slices} * tiling.slice_units, units);
          EXPECT_LT(std::uint64_t{tiling.slices - 1} * tiling.slice_units, units);
          EXPECT_LE(tiling.groups, 32U);
          EXPECT_LE(tiling.slices, 65535U);
          for (const std::int64_t lanes : {1, 8}) {
            EXPECT_LE(std::int64_t{tiling.slices} * groups * lanes,
                      static_cast<std::int64_t>(partial_bytes(groups * lanes, processors, 1)));
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace dlscale::backend::cuda
