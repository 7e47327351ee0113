#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "backend/compute/cuda/kernels/batch_norm_operation.hpp"
#include "backend/compute/cuda/kernels/bias.hpp"
#include "backend/compute/cuda/kernels/elementwise.hpp"
#include "backend/compute/cuda/kernels/kernels.hpp"
#include "backend/compute/cuda/kernels/pictures.hpp"
#include "backend/compute/cuda/kernels/transpose.hpp"
#include "backend/compute/cuda/kernels/update.hpp"
#include "backend/compute/cuda/runtime/operations.hpp"
#include "tests/backend/compute/cuda/host_tensor.hpp"
#include "tests/backend/compute/cuda/loop_launcher.hpp"
#include "tests/backend/compute/cuda/on_gpu.hpp"
#include "tests/backend/compute/layers.hpp"

/// Our own kernels on a GPU against the same code run by loops on the host. What rounds once must
/// agree to the bit.
namespace dlscale::backend::cuda {
namespace {

/// The same tensor on the host and on the GPU.
struct Twin {
  Twin(const Dims& dims, DType dtype, Order order, unsigned seed)
      : host(filled(dims, dtype, order, seed)),
        memory(host.tensor().data, host.tensor().desc.layout.bytes) {}

  [[nodiscard]] Tensor on_device() const { return {host.tensor().desc, memory.get()}; }
  void expect_equal() const {
    const Tensor tensor = host.tensor();
    const std::vector<std::byte> expected(tensor.data, tensor.data + tensor.desc.layout.bytes);
    EXPECT_EQ(memory.read(), expected);
  }
  /// Of numbers of size 1, to a few units of the last place. A ReLU may cut off elements that are
  /// next to nothing on one side only: one in ten thousand may differ.
  void expect_near() const {
    const Tensor tensor = host.tensor();
    const HostTensor there(tensor.desc.dims, tensor.desc.dtype, order_of(tensor.desc));
    const std::vector<std::byte> bytes = memory.read();
    std::memcpy(there.tensor().data, bytes.data(), bytes.size());
    const Values got = there.get();
    const Values expected = host.get();
    const float unit = unit_of(tensor.desc.dtype);
    std::size_t different = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      const float near = unit * std::max(1.0F, std::abs(expected[i]));
      if (!(std::abs(got[i] - expected[i]) <= near)) ++different;
    }
    EXPECT_LE(different, got.size() / 10000);
  }

  HostTensor host;
  Area memory;

 private:
  static float unit_of(DType dtype) {
    if (dtype == DType::bf16) return 0x1p-7F;
    return dtype == DType::f16 ? 0x1p-10F : 1e-5F;
  }
  static HostTensor filled(const Dims& dims, DType dtype, Order order, unsigned seed) {
    HostTensor tensor(dims, dtype, order);
    if (seed != 0) tensor.set(shuffled(tensor.tensor().desc.elements(), seed));
    return tensor;
  }
};

Area on_device(const Values& values) {
  return {values.data(), values.size() * sizeof(float)};
}

void expect_near(const Values& got, const Values& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], expected[i], 1e-4);
}

using OnDevice = OnGpu<testing::Test>;
using TensorsOnDevice = OnGpu<InDTypeAndOrder>;

TEST_P(TensorsOnDevice, AreConverted) {
  for (const Dims& dims : shapes) {
    for (const DType to : all_dtypes) {
      for (const Order other : both_orders) {
        const Twin source(dims, dtype_, order_, 1);
        const Twin target(dims, to, other, 0);
        launch_convert(LoopLauncher(), source.host.tensor(), target.host.tensor());
        convert(nullptr, source.on_device(), target.on_device());
        target.expect_equal();
      }
    }
  }
}

TEST_P(TensorsOnDevice, AreAccumulated) {
  const Twin value({2, 17, 3, 7}, dtype_, order_, 1);
  const Twin into({2, 17, 3, 7}, dtype_, order_, 2);
  launch_accumulate(LoopLauncher(), value.host.tensor(), into.host.tensor());
  accumulate(nullptr, value.on_device(), into.on_device());
  into.expect_equal();
}

TEST_P(TensorsOnDevice, TakeABias) {
  for (const Dims& dims : shapes) {
    const Values bias = shuffled(dims[1], 3);
    const Area bias_there = on_device(bias);
    const Twin plain(dims, dtype_, order_, 1);
    launch_bias<Then::nothing>(LoopLauncher(), bias.data(), plain.host.tensor());
    add_bias(nullptr, bias_there.as<float>(), plain.on_device());
    plain.expect_equal();
    const Twin rectified(dims, dtype_, order_, 1);
    launch_bias<Then::relu>(LoopLauncher(), bias.data(), rectified.host.tensor());
    add_bias_relu(nullptr, bias_there.as<float>(), rectified.on_device());
    rectified.expect_equal();
    const Twin alone(dims, dtype_, order_, 2);
    launch_rectify(LoopLauncher(), alone.host.tensor(), alone.host.tensor());
    rectify(nullptr, alone.on_device());
    alone.expect_equal();
  }
}

TEST_P(TensorsOnDevice, SumTheGradientOfABiasAlwaysInTheSameOrder) {
  for (const Dims& dims : {Dims{2, 64, 8, 8}, Dims{3, 17, 9, 13}, Dims{16, 8, 40, 40}}) {
    const Twin gradient(dims, dtype_, order_, 1);
    const std::size_t bytes = bias_gradient_scratch(context_, gradient.host.tensor().desc);
    const Buffer scratch =
        allocate_host(partial_bytes(dims[1], LoopLauncher().processors(), sizeof(BiasSums)));
    const Area scratch_there(bytes);
    Values expected(static_cast<std::size_t>(dims[1]));
    launch_bias_gradient(LoopLauncher(), gradient.host.tensor(), expected.data(), scratch.get());
    const Area got = on_device(Values(expected.size(), 7.0F));
    bias_gradient(context_, gradient.on_device(), got.as<float>(), scratch_there.get());
    const Values first = got.read<float>();
    expect_near(first, expected);
    bias_gradient(context_, gradient.on_device(), got.as<float>(), scratch_there.get());
    EXPECT_EQ(got.read<float>(), first);
  }
}

TEST_P(TensorsOnDevice, LetGradientsThroughWhereTheyArePositive) {
  for (const Dims& dims : {Dims{2, 17, 5, 3}, Dims{2, 64, 8, 8}}) {
    const Twin output(dims, dtype_, order_, 1);
    const Twin dy(dims, dtype_, order_, 9);
    launch_relu_gradient(LoopLauncher(), output.host.tensor(), dy.host.tensor(), dy.host.tensor());
    relu_gradient(nullptr, output.on_device(), dy.on_device(), dy.on_device());
    dy.expect_equal();
  }
}

TEST_P(TensorsOnDevice, AreMadeOfPictures) {
  const PictureStatistics statistics{{0.485F, 0.456F, 0.406F}, {0.229F, 0.224F, 0.225F}};
  for (const Dims& dims : {Dims{2, 3, 8, 6}, Dims{2, 3, 7, 5}}) {
    std::vector<std::uint8_t> pictures(static_cast<std::size_t>(dims[0] * 3 * dims[2] * dims[3]));
    for (std::size_t i = 0; i < pictures.size(); ++i) {
      pictures[i] = static_cast<std::uint8_t>(i * 37 % 256);
    }
    const Area pictures_there(pictures.data(), pictures.size());
    const Twin to(dims, dtype_, order_, 0);
    launch_normalisation(LoopLauncher(), pictures.data(), statistics, to.host.tensor());
    normalise_pictures(nullptr, pictures_there.as<std::byte>(), statistics, to.on_device());
    to.expect_near();
  }
}

Operands operands_of(const Operation& operation, const std::array<Tensor, 3>& tensors,
                     const std::array<Tensor, 2>& parameters,
                     const std::array<Tensor, 2>& gradients, const std::array<Tensor, 1>& dx,
                     std::byte* state, std::byte* scratch) {
  EXPECT_EQ(operation.parameters().size(), 2U);
  return {.inputs = {tensors.data(), 1},
          .output = tensors[1],
          .parameters = parameters,
          .output_gradient = tensors[2],
          .input_gradients = dx,
          .parameter_gradients = gradients,
          .state = state,
          .scratch = scratch,
          .labels = {},
          .seed = 0};
}

TEST_P(TensorsOnDevice, AreNormalisedAndRectified) {
  for (const Dims& dims : {Dims{8, 64, 14, 14}, Dims{3, 17, 9, 5}, Dims{4, 528, 7, 7}}) {
    const auto channels = static_cast<int>(dims[1]);
    const Twin x(dims, dtype_, order_, 1);
    const Twin dy(dims, dtype_, order_, 2);
    const Twin y(dims, dtype_, order_, 0);
    const Twin dx(dims, dtype_, order_, 0);
    const Twin scale({channels, 1, 1, 1}, DType::f32, order_, 3);
    const Twin shift({channels, 1, 1, 1}, DType::f32, order_, 4);
    const Twin of_scale({channels, 1, 1, 1}, DType::f32, order_, 0);
    const Twin of_shift({channels, 1, 1, 1}, DType::f32, order_, 0);
    const ImageShape shape{channels, static_cast<int>(dims[2]), static_cast<int>(dims[3])};
    const OperationSpec spec{make_layer(BatchNorm{}, {shape}),
                             static_cast<int>(dims[0]),
                             dtype_,
                             {x.host.tensor().desc}};
    context_.order = order_;
    const auto there = make_batch_norm_relu(context_, spec, BatchNorm{});
    BatchNormOperation<LoopLauncher, Then::relu> here(LoopLauncher(), spec, order_, BatchNorm{});
    const Buffer state = allocate_host(here.state_bytes());
    const Buffer scratch = allocate_host(here.scratch_bytes());
    const Area state_there(there->state_bytes());
    const Area scratch_there(there->scratch_bytes());

    const std::array tensors{x.host.tensor(), y.host.tensor(), dy.host.tensor()};
    const std::array parameters{scale.host.tensor(), shift.host.tensor()};
    const std::array gradients{of_scale.host.tensor(), of_shift.host.tensor()};
    const std::array input_gradient{dx.host.tensor()};
    const std::array tensors_there{x.on_device(), y.on_device(), dy.on_device()};
    const std::array parameters_there{scale.on_device(), shift.on_device()};
    const std::array gradients_there{of_scale.on_device(), of_shift.on_device()};
    const std::array input_gradient_there{dx.on_device()};
    for (const Pass pass : {Pass::forward, Pass::backward_data}) {
      here.run(pass, operands_of(here, tensors, parameters, gradients, input_gradient, state.get(),
                                 scratch.get()));
      there->run(pass, operands_of(*there, tensors_there, parameters_there, gradients_there,
                                   input_gradient_there, state_there.get(), scratch_there.get()));
    }
    y.expect_near();
    dx.expect_near();
    expect_near(of_scale.memory.read<float>(), of_scale.host.get());
    expect_near(of_shift.memory.read<float>(), of_shift.host.get());
  }
}

INSTANTIATE_TEST_SUITE_P(All, TensorsOnDevice, InDTypeAndOrder::all(), InDTypeAndOrder::name);

TEST_F(OnDevice, UpdatesAllParametersAtOnce) {
  const SgdStep step{.rate = 0.1F, .momentum = 0.9F, .weight_decay = 0.01F, .gradient_scale = 0.5F};
  for (const DType low_dtype : {DType::bf16, DType::f16}) {
    Values weights = shuffled(100003, 1);
    Values momentum = shuffled(100003, 2);
    const Values gradients = shuffled(100003, 3);
    std::vector<std::uint16_t> low(weights.size());
    const Area weights_there = on_device(weights);
    const Area momentum_there = on_device(momentum);
    const Area gradients_there = on_device(gradients);
    const Area low_there(low.size() * sizeof(std::uint16_t));
    launch_update(LoopLauncher(), step, weights.size(), weights.data(), gradients.data(),
                  momentum.data(), low.data(), low_dtype);
    update(nullptr, step, weights.size(), weights_there.as<float>(), gradients_there.as<float>(),
           momentum_there.as<float>(), low_there.as<std::uint16_t>(), low_dtype);
    const Values got = weights_there.read<float>();
    expect_near(got, weights);
    expect_near(momentum_there.read<float>(), momentum);
    const auto got_low = low_there.read<std::uint16_t>();
    for (std::size_t i = 0; i < got.size(); ++i) {
      ASSERT_EQ(got_low[i], low_dtype == DType::bf16 ? to_bfloat16(got[i]) : to_half(got[i]));
    }
  }
}

TEST_F(OnDevice, TouchesWithoutChange) {
  std::vector<std::uint8_t> bytes(100003);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i % 251);
  const Area memory(bytes.data(), bytes.size());
  touch(nullptr, memory.get(), bytes.size());
  EXPECT_EQ(memory.read<std::uint8_t>(), bytes);
}

TEST_F(OnDevice, HoldsTheStreamAtLeastAsLongAsAsked) {
  const Event before = make_event();
  const Event after = make_event();
  hold(nullptr, Seconds(1e-4));  // loads the kernel
  record(before, nullptr);
  hold(nullptr, Seconds(2e-3));
  record(after, nullptr);
  EXPECT_GE(elapsed(before, after), Seconds(1.99e-3));
}

/// A graph that was captured once reads the labels of every replay.
TEST_F(OnDevice, ReadsTheLabelsAnewInEveryReplay) {
  constexpr int images = 3;
  constexpr int classes = 10;
  check(cudaStreamCreate(&context_.stream), "cudaStreamCreate", "a test");
  const Twin x({images, classes, 1, 1}, DType::f32, Order::nhwc, 1);
  const OperationSpec spec{make_layer(SoftmaxCrossEntropy{}, {{classes, 1, 1}}),
                           images,
                           DType::f32,
                           {x.host.tensor().desc}};
  const auto loss = make_loss(context_, spec, SoftmaxCrossEntropy{});
  const Area y(images * sizeof(float));
  const Area state(loss->state_bytes());
  std::vector<std::int32_t> labels(images, 0);
  const std::array inputs{x.on_device()};
  const Operands operands{.inputs = inputs,
                          .output = {loss->output(), y.get()},
                          .parameters = {},
                          .output_gradient = {},
                          .input_gradients = {},
                          .parameter_gradients = {},
                          .state = state.get(),
                          .scratch = nullptr,
                          .labels = labels,
                          .seed = 0};
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t replay = nullptr;
  loss->run(Pass::forward, operands);  // loads the kernel
  check(cudaStreamBeginCapture(context_.stream, cudaStreamCaptureModeThreadLocal),
        "cudaStreamBeginCapture", "a test");
  loss->run(Pass::forward, operands);
  check(cudaStreamEndCapture(context_.stream, &graph), "cudaStreamEndCapture", "a test");
  check(cudaGraphInstantiate(&replay, graph, 0), "cudaGraphInstantiate", "a test");
  const Values values = x.host.get();
  for (const std::int32_t label : {0, 4, 9}) {
    labels.assign(images, label);
    check(cudaGraphLaunch(replay, context_.stream), "cudaGraphLaunch", "a test");
    const Values got = y.read<float>();
    for (int n = 0; n < images; ++n) {
      const float* row = values.data() + static_cast<std::ptrdiff_t>(n) * classes;
      double sum = 0;
      for (int c = 0; c < classes; ++c) sum += std::exp(row[c]);
      EXPECT_NEAR(got[n], std::log(sum) - row[label], 1e-5);
    }
  }
  check(cudaGraphExecDestroy(replay), "cudaGraphExecDestroy", "a test");
  check(cudaGraphDestroy(graph), "cudaGraphDestroy", "a test");
  check(cudaStreamDestroy(context_.stream), "cudaStreamDestroy", "a test");
}

}  // namespace
}  // namespace dlscale::backend::cuda
