#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "backend/compute/precision.hpp"
#include "core/base/error.hpp"
#include "tests/backend/compute/devices.hpp"
#include "tests/backend/compute/layers.hpp"

/// What every device promises beside the answers of its operations.
namespace dlscale::backend {
namespace {

using Values = std::vector<float>;

/// Memory for one tensor.
struct Owned {
  Owned(ComputeDevice& device, const TensorDesc& desc)
      : buffer(device.allocate(desc.layout.bytes)), tensor{desc, buffer.get()} {}
  Buffer buffer;
  Tensor tensor;
};

/// The tests have an open device; where the machine has none they are skipped.
class EveryDevice : public testing::TestWithParam<const ComputeBackend*> {
 protected:
  static void SetUpTestSuite() { devices = std::make_unique<OpenedDevices>(); }
  static void TearDownTestSuite() { devices.reset(); }
  void SetUp() override {
    const OpenedDevice& opened = devices->of(*GetParam());
    if (opened.device == nullptr) GTEST_SKIP() << opened.reason;
    device = opened.device.get();
  }
  static std::unique_ptr<OpenedDevices> devices;
  ComputeDevice* device = nullptr;
};

std::unique_ptr<OpenedDevices> EveryDevice::devices;

TEST_P(EveryDevice, HasTheNameOfItsBackend) {
  EXPECT_EQ(device->name(), GetParam()->name);
}

TEST_P(EveryDevice, AllocatesZeroedAlignedMemory) {
  const Owned there(*device, device->plain({10, 5, 5, 1}, DType::f32));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(there.tensor.data) % 64, 0U);
  EXPECT_EQ(read(*device, there.tensor), Values(250, 0.0F));
  const Buffer here = device->allocate_on_host(1000);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(here.get()) % 64, 0U);
  EXPECT_TRUE(std::all_of(here.get(), here.get() + 1000,
                          [](std::byte value) { return value == std::byte{0}; }));
}

TEST_P(EveryDevice, ClearsAndTouchesItsMemory) {
  const Owned there(*device, device->plain({3, 5, 7, 2}, DType::f32));
  const Values values = shuffled(there.tensor.desc.elements(), 1);
  write(*device, values, there.tensor);
  device->touch(there.tensor.data, there.tensor.desc.layout.bytes);
  EXPECT_EQ(read(*device, there.tensor), values);
  device->clear(there.tensor.data, there.tensor.desc.layout.bytes);
  EXPECT_EQ(read(*device, there.tensor), Values(values.size(), 0.0F));
}

TEST_P(EveryDevice, CarriesBytesThereAndBack) {
  const Buffer there = device->allocate(1000);
  const Buffer from = device->allocate_on_host(1000);
  for (std::size_t i = 0; i < 1000; ++i) from[i] = static_cast<std::byte>(i * 7 % 251);
  std::vector<std::byte> back(1000);
  const auto copy_stream = device->copy_stream();
  copy_stream->copy(from.get(), there.get(), 1000);
  copy_stream->copy(there.get(), back.data(), 1000);
  EXPECT_TRUE(std::equal(back.begin(), back.end(), from.get()));
}

TEST_P(EveryDevice, MarksItsTimeLine) {
  const auto first = device->mark();
  const Owned there(*device, device->plain({64, 64, 16, 16}, DType::f32));
  device->touch(there.tensor.data, there.tensor.desc.layout.bytes);
  const auto second = device->mark();
  second->wait();
  EXPECT_GT(second->since(*first), Seconds(0));
  EXPECT_EQ(first->since(*first), Seconds(0));
}

TEST_P(EveryDevice, TimesWhatItWasGiven) {
  const Owned there(*device, device->plain({64, 64, 16, 16}, DType::f32));
  int calls = 0;
  const Timed time = device->time([&] {
    ++calls;
    device->touch(there.tensor.data, there.tensor.desc.layout.bytes);
  });
  EXPECT_EQ(calls, 1);
  EXPECT_GT(time.device, Seconds(0));
  EXPECT_EQ(time.host > Seconds(0), device->own_memory().has_value());
}

TEST_P(EveryDevice, CopiesThereAndBackWithoutLoss) {
  const Layer layer = make_layer(Relu{}, {{19, 5, 3}});
  const OperationSpec spec = chained_spec(*device, layer, 2, DType::f32);
  const Owned there(*device, spec.inputs.front());
  const Values values = shuffled(there.tensor.desc.elements(), 1);
  write(*device, values, there.tensor);
  EXPECT_EQ(read(*device, there.tensor), values);
}

TEST_P(EveryDevice, CopiesWeightsThereAndBackWithoutLoss) {
  for (const int groups : {1, 2}) {
    const Convolution kind{
        .out_channels = 34, .kernel_h = 3, .kernel_w = 2, .pad = 1, .groups = groups};
    const auto operation =
        device->create(plain_spec(*device, make_layer(kind, {{6, 5, 5}}), 2, DType::f32));
    const Owned weights(*device, operation->parameters().front().value);
    EXPECT_EQ(weights.tensor.desc.dims, (std::array<std::int64_t, 4>{34, 6 / groups, 3, 2}));
    const Values values = shuffled(weights.tensor.desc.elements(), 1);
    write(*device, values, weights.tensor);
    EXPECT_EQ(read(*device, weights.tensor), values);
  }
}

TEST_P(EveryDevice, KeepsGradientsInTheOrderOfTheirValues) {
  const std::vector<LayerKind> kinds{
      Convolution{.out_channels = 40, .kernel_h = 3, .kernel_w = 3, .pad = 1},
      FullyConnected{.outputs = 40}, BatchNorm{}};
  for (const LayerKind& kind : kinds) {
    const auto operation =
        device->create(chained_spec(*device, make_layer(kind, {{24, 6, 6}}), 2, DType::f32));
    ASSERT_EQ(operation->parameters().size(), 2U);
    for (const Parameter& parameter : operation->parameters()) {
      EXPECT_EQ(parameter.gradient.layout, parameter.value.layout);
      EXPECT_EQ(parameter.gradient.dims, parameter.value.dims);
      EXPECT_EQ(parameter.gradient.dtype, DType::f32);
    }
  }
}

TEST_P(EveryDevice, AccumulatesInAnyLayout) {
  const OperationSpec spec = chained_spec(*device, make_layer(Relu{}, {{19, 5, 3}}), 2, DType::f32);
  const Owned a(*device, spec.inputs.front());
  const Owned b(*device, spec.inputs.front());
  const Values values_a = shuffled(a.tensor.desc.elements(), 1);
  const Values values_b = shuffled(a.tensor.desc.elements(), 2);
  write(*device, values_a, a.tensor);
  write(*device, values_b, b.tensor);
  device->accumulate(a.tensor, b.tensor);
  device->synchronize();
  Values sums(values_a.size());
  std::transform(values_a.begin(), values_a.end(), values_b.begin(), sums.begin(), std::plus<>());
  EXPECT_EQ(read(*device, b.tensor), sums);
}

TEST_P(EveryDevice, UpdatesAsCaffeAndPyTorchDo) {
  const SgdStep step{.rate = 0.1F, .momentum = 0.9F, .weight_decay = 0.01F, .gradient_scale = 0.5F};
  const TensorDesc desc = device->plain({1001, 1, 1, 1}, DType::f32);
  const Owned weights(*device, desc);
  const Owned gradients(*device, desc);
  const Owned momentum(*device, desc);
  const Buffer low = device->allocate(1001 * sizeof(std::uint16_t));
  const Values weights_before = shuffled(1001, 1);
  const Values gradients_before = shuffled(1001, 2);
  const Values momentum_before = shuffled(1001, 3);
  write(*device, weights_before, weights.tensor);
  write(*device, gradients_before, gradients.tensor);
  write(*device, momentum_before, momentum.tensor);
  device->update(step, 1001, weights.tensor.as<float>(), gradients.tensor.as<float>(),
                 momentum.tensor.as<float>(), reinterpret_cast<std::uint16_t*>(low.get()));
  device->synchronize();
  const Values weights_after = read(*device, weights.tensor);
  const Values momentum_after = read(*device, momentum.tensor);
  std::vector<std::uint16_t> low_after(1001);
  device->copy_stream()->copy(low.get(), reinterpret_cast<std::byte*>(low_after.data()),
                              1001 * sizeof(std::uint16_t));
  for (std::size_t i = 0; i < weights_after.size(); ++i) {
    const double g = gradients_before[i] * 0.5 + 0.01 * weights_before[i];
    const double v = 0.9 * momentum_before[i] + g;
    EXPECT_NEAR(momentum_after[i], v, 1e-6);
    EXPECT_NEAR(weights_after[i], weights_before[i] - 0.1 * v, 1e-6);
    EXPECT_EQ(low_after[i], to_bfloat16(weights_after[i]));
  }
}

TEST_P(EveryDevice, RunsOneOperationOnSeveralSetsOfMemory) {
  const OperationSpec spec = plain_spec(*device, make_layer(Relu{}, {{16, 4, 4}}), 2, DType::f32);
  const auto operation = device->create(spec);
  OperationMemory first(*device, spec, *operation);
  OperationMemory second(*device, spec, *operation);
  write(*device, Values(512, 1.0F), first.inputs()[0]);
  write(*device, Values(512, 2.0F), second.inputs()[0]);
  for (OperationMemory* memory : {&first, &second, &first}) {
    operation->run(Pass::forward, memory->operands(0));
  }
  device->synchronize();
  EXPECT_EQ(read(*device, first.output()), Values(512, 1.0F));
  EXPECT_EQ(read(*device, second.output()), Values(512, 2.0F));
}

TEST_P(EveryDevice, LetsAnotherThreadIssueTheWork) {
  const OperationSpec spec = plain_spec(*device, make_layer(Relu{}, {{16, 4, 4}}), 2, DType::f32);
  const auto operation = device->create(spec);
  OperationMemory memory(*device, spec, *operation);
  write(*device, Values(512, 3.0F), memory.inputs()[0]);
  std::thread([&] {
    operation->run(Pass::forward, memory.operands(0));
    device->synchronize();
  }).join();
  EXPECT_EQ(read(*device, memory.output()), Values(512, 3.0F));
}

TEST_P(EveryDevice, NormalisesABatchToMeanZeroAndVarianceOne) {
  const OperationSpec spec =
      chained_spec(*device, make_layer(BatchNorm{.epsilon = 1e-8}, {{17, 6, 6}}), 4, DType::f32);
  const auto operation = device->create(spec);
  OperationMemory memory(*device, spec, *operation);
  write(*device, shuffled(std::int64_t{4} * 17 * 36, 1), memory.inputs()[0]);
  write(*device, Values(17, 1.0F), memory.parameters()[0]);
  operation->run(Pass::forward, memory.operands(0));
  const Values y = read(*device, memory.output());
  for (std::size_t channel = 0; channel < 17; ++channel) {
    double sum = 0;
    double squares = 0;
    for (std::size_t i = 0; i < std::size_t{4} * 36; ++i) {
      const double value = y[(i / 36 * 17 + channel) * 36 + i % 36];
      sum += value;
      squares += value * value;
    }
    EXPECT_NEAR(sum / 144, 0, 1e-5);
    EXPECT_NEAR(squares / 144, 1, 1e-4);
  }
}

TEST_P(EveryDevice, ConvolvesLinearly) {
  const Convolution kind{.out_channels = 24, .kernel_h = 3, .kernel_w = 3, .pad = 1, .bias = false};
  const OperationSpec spec = plain_spec(*device, make_layer(kind, {{8, 6, 6}}), 2, DType::f32);
  const auto operation = device->create(spec);
  OperationMemory memory(*device, spec, *operation);
  write(*device, shuffled(std::int64_t{24} * 8 * 9, 1), memory.parameters()[0]);
  const auto convolve = [&](const Values& x) {
    write(*device, x, memory.inputs()[0]);
    operation->run(Pass::forward, memory.operands(0));
    return read(*device, memory.output());
  };
  const Values a = shuffled(std::int64_t{2} * 8 * 36, 2);
  const Values b = shuffled(std::int64_t{2} * 8 * 36, 3);
  Values mixed(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) mixed[i] = 2 * a[i] - 3 * b[i];
  const Values of_a = convolve(a);
  const Values of_b = convolve(b);
  const Values of_mixed = convolve(mixed);
  for (std::size_t i = 0; i < of_mixed.size(); ++i) {
    EXPECT_NEAR(of_mixed[i], 2 * of_a[i] - 3 * of_b[i], 2e-4);
  }
}

TEST_P(EveryDevice, DropsTheSameElementsForTheSameSeedOnly) {
  const OperationSpec spec =
      chained_spec(*device, make_layer(Dropout{.probability = 0.3}, {{32, 20, 20}}), 4, DType::f32);
  const auto operation = device->create(spec);
  OperationMemory memory(*device, spec, *operation);
  write(*device, Values(51200, 1.0F), memory.inputs()[0]);
  const auto drop = [&](std::uint64_t seed) {
    operation->run(Pass::forward, memory.operands(seed));
    return read(*device, memory.output());
  };
  const Values first = drop(1);
  EXPECT_EQ(drop(1), first);
  EXPECT_NE(drop(2), first);
  const double mean = std::accumulate(first.begin(), first.end(), 0.0) / 51200;
  EXPECT_NEAR(mean, 1, 5 * std::sqrt(0.3 / 0.7 / 51200));  // five deviations of the mean
}

TEST_P(EveryDevice, RefusesToRunTheInput) {
  const Layer layer{LayerId(0), "input", Input{}, {}, {{3, 4, 4}}, {3, 4, 4}};
  EXPECT_THROW(static_cast<void>(device->create(plain_spec(*device, layer, 1, DType::f32))),
               Unsupported);
}

TEST_P(EveryDevice, RefusesAnLrnWindowWithoutAMiddle) {
  const Layer layer{LayerId(1), "lrn", Lrn{.size = 4}, {LayerId(0)}, {{8, 4, 4}}, {8, 4, 4}};
  EXPECT_THROW(static_cast<void>(device->create(plain_spec(*device, layer, 1, DType::f32))),
               Unsupported);
}

TEST_P(EveryDevice, RefusesALayoutThatIsNotItsOwn) {
  OperationSpec spec = plain_spec(*device, make_layer(Relu{}, {{8, 4, 4}}), 1, DType::f32);
  spec.inputs.front().layout = {"of another device", spec.inputs.front().layout.bytes, nullptr};
  EXPECT_THROW(static_cast<void>(device->create(spec)), Unsupported);
}

INSTANTIATE_TEST_SUITE_P(
    AllBackends, EveryDevice,
    testing::ValuesIn(std::vector<const ComputeBackend*>(family<ComputeBackend>().members.begin(),
                                                         family<ComputeBackend>().members.end())),
    [](const auto& tested) { return std::string(tested.param->name); });

TEST(ReferenceDevice, RefusesBf16AndSeveralThreads) {
  const ComputeBackend* backend = family<ComputeBackend>().find("reference");
  const auto device = backend->open({});
  EXPECT_THROW(static_cast<void>(device->plain({1, 1, 1, 1}, DType::bf16)), Unsupported);
  OperationSpec spec = plain_spec(*device, make_layer(Relu{}, {{8, 4, 4}}), 1, DType::f32);
  spec.dtype = DType::bf16;
  EXPECT_THROW(static_cast<void>(device->create(spec)), Unsupported);
  EXPECT_THROW(static_cast<void>(backend->open({.threads = 2})), Unsupported);
}

TEST(Bfloat16, RoundsToNearestEven) {
  EXPECT_EQ(from_bfloat16(to_bfloat16(1.0F)), 1.0F);
  EXPECT_EQ(from_bfloat16(to_bfloat16(1.0F + 0x1p-8F)), 1.0F);            // a tie, 1 is even
  EXPECT_EQ(from_bfloat16(to_bfloat16(1.0F + 0x3p-8F)), 1.0F + 0x1p-6F);  // a tie, up to even
  EXPECT_EQ(from_bfloat16(to_bfloat16(1.0F + 0x1.1p-8F)), 1.0F + 0x1p-7F);
  EXPECT_TRUE(std::isinf(from_bfloat16(to_bfloat16(3.4e38F))));  // beyond the largest number
  EXPECT_TRUE(std::isnan(from_bfloat16(to_bfloat16(NAN))));
}

}  // namespace
}  // namespace dlscale::backend
