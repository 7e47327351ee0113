#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/network/relu_fusion.hpp"
#include "tests/backend/compute/devices.hpp"
#include "tests/backend/compute/remote_device.hpp"
#include "tests/train/engine/fixtures.hpp"
#include "train/trainer.hpp"

namespace dlscale::train {
namespace {

/// Training of networks whose ReLUs are part of the layers before them, against the same with the
/// ReLUs apart.

/// ReLUs of every kind that can be taken in, some read by several layers, one by a sum whose
/// gradient others share, and one that must stay.
Network network_with_relus() {
  const Convolution same{.out_channels = 4, .kernel_h = 3, .kernel_w = 3, .pad = 1};
  const Convolution point{.out_channels = 4, .kernel_h = 1, .kernel_w = 1, .bias = false};
  return {"relus",
          {3, 9, 9},
          {{"stem", same, {"input"}},
           {"norm", BatchNorm{}, {"stem"}},
           {"norm_relu", Relu{}, {"norm"}},
           {"left", same, {"norm_relu"}},
           {"left_relu", Relu{}, {"left"}},
           {"right", point, {"norm_relu"}},
           {"sum1", Sum{}, {"left_relu", "right", "norm_relu"}},
           {"sum1_relu", Relu{}, {"sum1"}},
           {"next", same, {"sum1_relu"}},
           {"next_norm", BatchNorm{}, {"next"}},
           {"next_relu", Relu{}, {"next_norm"}},
           {"sum2", Sum{}, {"next_relu", "sum1_relu"}},
           {"sum2_relu", Relu{}, {"sum2"}},
           {"both", Sum{}, {"sum2_relu", "sum1_relu"}},
           {"kept", Relu{}, {"next"}},
           {"concat", Concat{}, {"both", "kept"}},
           {"last", same, {"concat"}},
           {"last_relu", Relu{}, {"last"}},
           {"pool", Pooling{.kernel_h = 3, .kernel_w = 3, .stride = 2}, {"last_relu"}},
           {"fc", FullyConnected{.outputs = 5}, {"pool"}},
           {"fc_relu", Relu{}, {"fc"}},
           {"fc2", FullyConnected{.outputs = 5}, {"fc_relu"}},
           {"loss", SoftmaxCrossEntropy{}, {"fc2"}}}};
}

/// What some iterations of training leave, layer by layer with parameters.
struct Trained {
  std::vector<double> losses;
  std::vector<std::vector<float>> gradients;
  std::vector<std::vector<float>> parameters;
};

Trained train(const Network& network, backend::ComputeDevice& device, int iterations) {
  Program program(network, device, 3, DType::f32);
  program.initialise(4);
  MadeData data(network, 3);
  Trained trained;
  for (int i = 0; i < iterations; ++i) {
    trained.losses.push_back(run_once(program, data.next(), static_cast<std::uint64_t>(i)));
    trained.gradients.clear();
    for (const Layer& layer : network.layers()) {
      if (layer.parameter_count() > 0)
        trained.gradients.push_back(program.plain_gradient(layer.id));
    }
    program.update({.rate = 0.05F});
  }
  for (const Layer& layer : network.layers()) {
    if (layer.parameter_count() > 0)
      trained.parameters.push_back(program.plain_parameters(layer.id));
  }
  return trained;
}

TEST(FusedTraining, IsTheSameOnReferenceToTheLastBit) {
  for (const Network& network : {chain_network(), network_with_relus()}) {
    const Network fused = fuse_relu(network);
    ASSERT_LT(fused.layers().size(), network.layers().size());
    const auto device = open_backend("reference");
    const Trained apart = train(network, *device, 4);
    const Trained together = train(fused, *device, 4);
    EXPECT_EQ(together.losses, apart.losses);
    EXPECT_EQ(together.gradients, apart.gradients);
    EXPECT_EQ(together.parameters, apart.parameters);
  }
}

/// Dropout behind ReLUs that are taken in, so that it is another layer than before.
Network network_that_drops() {
  return {"drops",
          {3, 6, 6},
          {{"conv", Convolution{.out_channels = 4, .kernel_h = 3, .kernel_w = 3}, {"input"}},
           {"relu", Relu{}, {"conv"}},
           {"drop1", Dropout{.probability = 0.4}, {"relu"}},
           {"fc1", FullyConnected{.outputs = 8}, {"drop1"}},
           {"drop2", Dropout{}, {"fc1"}},
           {"fc2", FullyConnected{.outputs = 4}, {"drop2"}},
           {"loss", SoftmaxCrossEntropy{}, {"fc2"}}}};
}

TEST(FusedTraining, DropsTheSameElements) {
  const Network network = network_that_drops();
  const auto device = open_backend("reference");
  const Trained apart = train(network, *device, 3);
  const Trained together = train(fuse_relu(network), *device, 3);
  EXPECT_EQ(together.losses, apart.losses);
  EXPECT_EQ(together.gradients, apart.gradients);
  EXPECT_EQ(together.parameters, apart.parameters);
}

TEST(FusedTraining, IsTheSameOnADeviceWithMemoryOfItsOwn) {
  const Network fused = fuse_relu(network_with_relus());
  const auto reference = open_backend("reference");
  const auto remote = backend::make_remote_device();
  const Trained here = train(fused, *reference, 2);
  const Trained there = train(fused, *remote, 2);
  EXPECT_EQ(there.losses, here.losses);
  EXPECT_EQ(there.gradients, here.gradients);
}

TEST(FusedTraining, AgreesWithTheReferenceOnEveryBackend) {
  for (const Network& network : {chain_network(), network_with_relus()}) {
    const Network fused = fuse_relu(network);
    const auto reference = open_backend("reference");
    const Trained expected = train(network, *reference, 1);
    for (const auto* backend : backend::backends_with_devices()) {
      const auto device = backend->open({});
      const Trained got = train(fused, *device, 1);
      EXPECT_NEAR(got.losses.front(), expected.losses.front(), 1e-5 * expected.losses.front())
          << backend->name;
      ASSERT_EQ(got.gradients.size(), expected.gradients.size());
      for (std::size_t i = 0; i < got.gradients.size(); ++i) {
        EXPECT_LT(relative_difference(got.gradients[i], expected.gradients[i]), 1e-4)
            << backend->name << ", layer with parameters " << i;
      }
    }
  }
}

TEST(FusedTraining, NeedsLessMemory) {
  const auto device = open_backend("reference");
  const Network network = network_with_relus();
  const Program apart(network, *device, 8, DType::f32);
  const Program together(fuse_relu(network), *device, 8, DType::f32);
  EXPECT_LT(together.memory(), apart.memory());
}

/// Whole training by the Trainer on devices with memory of their own: every GPU that there is, and
/// the reference behind what makes one different. What a graph replays wrongly (labels, seeds of
/// dropout, a batch that came too late) shows in the losses.

constexpr int iterations = 6;
constexpr int batch_size = 8;

struct TrainedOnDevice {
  std::string name;
  std::unique_ptr<backend::ComputeDevice> device;
};

std::vector<TrainedOnDevice> gpus() {
  std::vector<TrainedOnDevice> found;
  for (const auto* backend : family<backend::ComputeBackend>().members) {
    if (!backend->has_own_memory()) continue;
    if (auto opened = backend::try_open(*backend); opened.device != nullptr) {
      found.push_back({std::string(backend->name), std::move(opened.device)});
    }
  }
  return found;
}

/// Losses of some iterations; nothing where the device does not train in `dtype`.
std::optional<std::vector<double>> losses(const Network& network, backend::ComputeDevice& device,
                                          DType dtype, Launch launch) {
  try {
    Program program(network, device, batch_size, dtype);
    program.initialise(4);
    MadeData data(network, batch_size);
    const auto alone = backend::local_group(1);
    TrainOptions options;
    options.launch = launch;
    options.sgd.rate = 0.01F;
    Trainer trainer(
        program, *alone.front(), [&]() -> const Batch& { return data.next(); }, options);
    std::vector<double> found;
    for (int i = 0; i < iterations; ++i) found.push_back(trainer.iterate().loss);
    return found;
  } catch (const Unsupported&) {
    return std::nullopt;
  }
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::abs(a[i] - b[i]) / b[i]);
  }
  return largest;
}

/// Between losses in a precision and those in f32 by plain loops, relative: batch norm over few
/// values, and steps that add up what was rounded, make of one rounding error some dozens.
double allowed(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return 1e-3;
    case DType::tf32:
      return 2e-2;
    case DType::bf16:
    case DType::f16:
      return 1e-1;
  }
  fail_expectation("a known precision");
}

void expect_trains(const Network& network, TrainedOnDevice& on, DType dtype,
                   const std::vector<double>& expected) {
  const std::string what = on.name + " " + network.name() + " " + std::string(dtype_name(dtype));
  const auto eager = losses(network, *on.device, dtype, Launch::eager);
  if (!eager) {  // other precisions may be refused, by GPUs before Ampere, too
    EXPECT_NE(dtype, DType::f32) << what;
    return;
  }
  const auto graph = losses(network, *on.device, dtype, Launch::graph);
  ASSERT_TRUE(graph.has_value()) << what;
  // Not to the last bit: a library may add in another order from run to run.
  EXPECT_LT(largest_difference(*graph, *eager), dtype == DType::f32 ? 1e-5 : 1e-2) << what;
  EXPECT_LT(largest_difference(*eager, expected), allowed(dtype)) << what;
}

void expect_train(std::vector<TrainedOnDevice>& all) {
  const auto reference = open_backend("reference");
  for (const Network& network : {chain_network(), branched_network()}) {
    const auto expected = losses(network, *reference, DType::f32, Launch::eager);
    ASSERT_TRUE(expected.has_value());
    for (TrainedOnDevice& on : all) {
      for (const DType dtype : {DType::f32, DType::tf32, DType::bf16}) {
        expect_trains(network, on, dtype, *expected);
      }
    }
  }
}

TEST(DeviceTraining, LosesOnGpusAsTheReferenceDoesEagerlyAndByGraphs) {
  auto all = gpus();
  if (all.empty()) GTEST_SKIP() << "there is no GPU that this build can use";
  expect_train(all);
}

TEST(DeviceTraining, LosesBehindWhatMakesGpusDifferentAsTheReferenceDoes) {
  std::vector<TrainedOnDevice> remote;
  remote.push_back({"remote", backend::make_remote_device()});
  EXPECT_TRUE(losses(chain_network(), *remote.front().device, DType::f32, Launch::graph));
  expect_train(remote);
}

/// That the tests above would see a wrong replay: losses differ from batch to batch by more.
TEST(DeviceTraining, LosesOtherwiseOnOtherBatches) {
  const auto reference = open_backend("reference");
  for (const Network& network : {chain_network(), branched_network()}) {
    const auto found = losses(network, *reference, DType::f32, Launch::eager);
    ASSERT_TRUE(found.has_value());
    std::vector<double> before(found->begin(), found->end() - 1);
    EXPECT_GT(largest_difference(before, {found->begin() + 1, found->end()}), 1e-2);
  }
}

}  // namespace
}  // namespace dlscale::train
