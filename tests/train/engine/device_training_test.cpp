#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/backend/compute/devices.hpp"
#include "tests/backend/compute/remote_device.hpp"
#include "tests/train/engine/fixtures.hpp"
#include "train/trainer.hpp"

/// Whole training by the Trainer on devices with memory of their own: every GPU that there is, and
/// the reference behind what makes one different. What a graph replays wrongly (labels, seeds of
/// dropout, a batch that came too late) shows in the losses.
namespace dlscale::train {
namespace {

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
