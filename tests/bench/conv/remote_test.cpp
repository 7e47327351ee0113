#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <thread>

#include "bench/conv/layer_cells.hpp"
#include "bench/memory/input_copy.hpp"
#include "bench/update/update.hpp"
#include "tests/backend/compute/remote_device.hpp"
#include "tests/bench/engine/fake_monitor.hpp"
#include "tests/bench/engine/quick.hpp"

/// Measuring on a device with memory and a time line of its own.
namespace dlscale::bench {
namespace {

/// A fan-out, so that gradients are accumulated, and all passes.
std::shared_ptr<const Network> tiny_remote() {
  const Convolution conv{.out_channels = 4, .kernel_h = 3, .kernel_w = 3, .pad = 1};
  return std::make_shared<const Network>(
      "tiny", ImageShape{3, 6, 6},
      std::vector<Network::Node>{{"conv1", conv, {"input"}},
                                 {"norm", BatchNorm{}, {"conv1"}},
                                 {"conv2", conv, {"norm"}},
                                 {"sum", Sum{}, {"norm", "conv2"}},
                                 {"fc", FullyConnected{.outputs = 5}, {"sum"}},
                                 {"loss", SoftmaxCrossEntropy{}, {"fc"}}});
}

std::shared_ptr<Workbench> remote_workbench() {
  return std::make_shared<Workbench>(backend::make_remote_device(), open_device("reference", 1), 1);
}

std::shared_ptr<Workbench> watched_workbench(std::shared_ptr<FakeMonitor> monitor) {
  return std::make_shared<Workbench>(backend::make_remote_device(), open_device("reference", 1), 1,
                                     DeviceWitness{std::move(monitor), {}});
}

class MeasuringOnARemoteDevice : public testing::Test {
 protected:
  [[nodiscard]] backend::Communicator& communicator() const { return *group_.front(); }
  [[nodiscard]] Sampler sampler() const { return {communicator(), quick}; }

 private:
  std::vector<std::unique_ptr<backend::Communicator>> group_ = backend::local_group(1);
};

void expect_checked_and_timed(const Measurement& result) {
  EXPECT_EQ(result.status, Status::ok) << result.reason;
  ASSERT_TRUE(result.max_relative_error);
  EXPECT_LT(*result.max_relative_error, 1e-4);
  for (const double time : result.at("time").samples.front()) EXPECT_GT(time, 0);
}

TEST_F(MeasuringOnARemoteDevice, ChecksAndTimesEveryKernelInEveryStateOfTheCaches) {
  const std::vector networks{tiny_remote()};
  const LayerSelection everything{
      .batches = {2},
      .dtypes = {DType::f32},
      .passes = parse_passes({"all"}),
      .layers = {"all"},
      .caches = {CacheState::cold, CacheState::producer, CacheState::hot}};
  const auto cells = layer_cells(remote_workbench(), networks, everything, communicator());
  EXPECT_GT(cells.size(), std::size_t{30});
  for (const Cell& cell : cells) expect_checked_and_timed(cell.measure(sampler()));
}

TEST_F(MeasuringOnARemoteDevice, ChecksAndTimesTheUpdate) {
  const auto workbench = remote_workbench();
  expect_checked_and_timed(measure_update(*workbench, 5000, DType::f32, sampler()));
  expect_checked_and_timed(measure_update(*workbench, 5000, DType::bf16, sampler()));
}

TEST_F(MeasuringOnARemoteDevice, ChecksAndTimesTheCopyOfABatch) {
  const auto workbench = remote_workbench();
  expect_checked_and_timed(measure_input_copy(*workbench, {{3, 20, 20}, 4, DType::f32}, sampler()));
}

/// How many warnings say `part`; the few samples of a test have one of their own.
std::ptrdiff_t warnings_of(const Measurement& result, const std::string& part) {
  return std::ranges::count_if(result.warnings, [&](const std::string& warning) {
    return warning.find(part) != std::string::npos;
  });
}

/// What is read beside the times of anything measured on a workbench.
void expect_conditions(const Measurement& result) {
  EXPECT_EQ(result.at("time").samples.front().size(), 2U);
  EXPECT_GE(result.at("processor_clock").samples.front().size(), 2U);
  EXPECT_EQ(result.at("power").unit, "W");
  EXPECT_EQ(result.at("throttle_reasons").summary.max, 0);
  EXPECT_EQ(warnings_of(result, "throttled") + warnings_of(result, "NVML"), 0);
}

TEST_F(MeasuringOnARemoteDevice, ReadsTheConditionsMeanwhile) {
  const auto workbench = watched_workbench(std::make_shared<FakeMonitor>());
  const std::vector networks{tiny_remote()};
  const LayerSelection forward{.batches = {2},
                               .dtypes = {DType::f32},
                               .passes = {Pass::forward},
                               .layers = {"conv1"},
                               .caches = {CacheState::hot}};
  for (const Cell& cell : layer_cells(workbench, networks, forward, communicator())) {
    expect_conditions(cell.measure(sampler()));
  }
  expect_conditions(measure_update(*workbench, 5000, DType::f32, sampler()));
  expect_conditions(measure_input_copy(*workbench, {{3, 20, 20}, 4, DType::f32}, sampler()));
}

TEST_F(MeasuringOnARemoteDevice, GivesTheEnergyOfEachSampleWithTheWarmUp) {
  const auto monitor = std::make_shared<FakeMonitor>();
  const auto workbench = watched_workbench(monitor);
  const Measurement result = workbench->sample(sampler(), CacheState::hot, {}, [&] {
    while (monitor->readings() < 12) std::this_thread::yield();
  });
  constexpr double samples = 3;  // one to warm up
  EXPECT_DOUBLE_EQ(result.at("energy").summary.median, 3.0 * (monitor->readings() - 1) / samples);
}

TEST_F(MeasuringOnARemoteDevice, WarnsOfThrottling) {
  const auto workbench = watched_workbench(std::make_shared<FakeMonitor>(0x4));
  const Measurement result = measure_update(*workbench, 5000, DType::f32, sampler());
  EXPECT_EQ(warnings_of(result, "throttled"), 1);
}

TEST_F(MeasuringOnARemoteDevice, SaysOnceWhyThereAreNoConditions) {
  const Measurement result = measure_update(*remote_workbench(), 5000, DType::f32, sampler());
  EXPECT_EQ(warnings_of(result, "clocks, power and temperature"), 1);
  EXPECT_FALSE(result.series.contains("power"));
}

}  // namespace
}  // namespace dlscale::bench
