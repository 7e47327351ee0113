// Machines with other hardware than was measured or bought.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "model/calibrate/calibrate.hpp"
#include "model/sgd_iter/messages/all_reduce_override.hpp"
#include "model/sgd_iter/messages/message_time.hpp"
#include "model/sgd_iter/predict.hpp"
#include "model/topology/topology.hpp"
#include "model/what_if/scaled_machine.hpp"
#include "model/what_if/stated_inputs.hpp"
#include "tests/core/support.hpp"
#include "tests/model/synthetic.hpp"

namespace dlscale::model {
namespace {

using TrainingRun = dlscale::Run;  // gtest's fixtures have a Run() of their own
using Stated = std::vector<StatedInput>;

TrainingRun run_on(const Machine& machine, const Network& network, int ranks) {
  TrainingRun run;
  run.network = network.name();
  run.cluster = machine.cluster.name;
  run.ranks = ranks;
  run.ranks_per_node = machine.cluster.devices_per_node;
  run.loader_threads = 2;
  return run;
}

double iteration(const Machine& machine, const Network& network, int ranks) {
  const int counts[] = {ranks};
  return predict(network, machine, run_on(machine, network, ranks), counts).front().time.total.si();
}

Machine p40() {
  return nominal_machine(load_cluster("p40x16"));
}

Machine fitted() {
  return calibrate(synthetic::two_workers(), synthetic::results(synthetic::branched(), 8));
}

/// Computes on GPUs of which a data sheet is known.
Machine fitted_gpu() {
  Machine machine = fitted();
  Device& device = machine.cluster.device;
  device.kind = DeviceKind::gpu;
  device.name = "a GPU";
  device.peak[DType::f32] = FlopsPerSecond(1e9);
  device.memory_bandwidth = BytesPerSecond(1e10);
  return machine;
}

Machine stated(Machine machine, const Stated& inputs) {
  std::vector<std::string> notes;
  Machine result = with_stated_inputs(std::move(machine), inputs, notes);
  EXPECT_EQ(notes.size(), inputs.size());
  return result;
}

std::string refusal(const Machine& machine, const Stated& inputs) {
  try {
    static_cast<void>(stated(machine, inputs));
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

void expect_refused(const Machine& machine, const Stated& inputs, const std::string& why) {
  const std::string text = refusal(machine, inputs);
  test::expect_contains(text, why);
}

/// What is made faster and slower again is as it was, and faster hardware never takes longer.
void expect_monotone(const Machine& machine, const Network& network, int ranks) {
  const double before = iteration(machine, network, ranks);
  for (const Hardware what : all_hardware) {
    const Machine twice = scaled_machine(machine, what, 2);
    EXPECT_LE(iteration(twice, network, ranks), before * (1 + 1e-12)) << hardware_name(what);
    EXPECT_NEAR(iteration(scaled_machine(twice, what, 0.5), network, ranks), before, 1e-9 * before)
        << hardware_name(what);
  }
}

TEST(FasterMachine, NeverTakesLongerFromDataSheets) {
  for (const int ranks : {1, 4, 16}) expect_monotone(p40(), load_network("alexnet"), ranks);
}

TEST(FasterMachine, NeverTakesLongerWhereItWasMeasured) {
  for (const int ranks : {1, 2}) expect_monotone(fitted_gpu(), synthetic::branched(), ranks);
}

TEST(FasterMachine, TakesHalfTheTimeOfKernelsWhereBothCeilingsAreTwiceAsHigh) {
  const Machine before = fitted();
  const Hardware ceilings[] = {Hardware::peak, Hardware::memory_bandwidth};
  const Machine after = scaled_machine(before, ceilings, 2);
  for (std::size_t i = 0; i < before.kernels.size(); ++i) {
    const double kernel = before.kernels[i].time.value.si();
    EXPECT_NEAR(after.kernels[i].time.value.si(), kernel / 2, 1e-12 * kernel);
  }
}

TEST(FasterMachine, ScalesKernelsByTheCeilingThatHoldsThemBack) {
  const Machine before = fitted_gpu();
  const Machine after = scaled_machine(before, Hardware::peak, 3);
  EXPECT_DOUBLE_EQ(after.cluster.device.peak.at(DType::f32).si(), 3e9);
  int faster_ones = 0;
  for (std::size_t i = 0; i < before.kernels.size(); ++i) {
    const Work work = before.kernels[i].work;
    const double moving = work.bytes.si() / 1e10;
    const double ratio =
        std::max(work.flops.si() / 3e9, moving) / std::max(work.flops.si() / 1e9, moving);
    EXPECT_NEAR(after.kernels[i].time.value / before.kernels[i].time.value, ratio, 1e-12);
    faster_ones += ratio < 1 ? 1 : 0;
  }
  EXPECT_GT(faster_ones, 0);
  EXPECT_LT(faster_ones, static_cast<int>(before.kernels.size()));
}

TEST(FasterMachine, HasMessagesOfWhichOnlyTheNamedPartIsShorter) {
  const Machine before = fitted();
  const auto time = [](const Machine& machine, double bytes) {
    return machine.collectives.at(0).time(Bytes(bytes)).si();
  };
  const double start = 50e-6;
  const double bytes = 1e6;
  const Machine quick = scaled_machine(before, Hardware::intra_node_latency, 4);
  const Machine broad = scaled_machine(before, Hardware::intra_node_bandwidth, 4);
  const double whole = time(before, bytes);
  EXPECT_NEAR(time(quick, bytes), whole - 0.75 * start, 1e-3 * whole);
  EXPECT_NEAR(time(broad, bytes), start + (whole - start) / 4, 1e-3 * whole);
  // Nothing was measured across nodes.
  EXPECT_DOUBLE_EQ(time(scaled_machine(before, Hardware::inter_node_bandwidth, 4), bytes), whole);
}

TEST(StatedInputs, ReplaceFiguresOfDataSheets) {
  const Network network = load_network("alexnet");
  const Machine machine =
      stated(p40(), {{"inter_node.bandwidth", "200Gb/s"}, {"device.peak.f32", "20 TFLOP/s"}});
  Cluster cluster = load_cluster("p40x16");
  cluster.inter_node.bandwidth = BytesPerSecond(25e9);
  cluster.device.peak[DType::f32] = FlopsPerSecond(20e12);
  const Machine other = nominal_machine(cluster);
  for (const int ranks : {1, 4, 16}) {
    EXPECT_DOUBLE_EQ(iteration(machine, network, ranks), iteration(other, network, ranks));
  }
}

TEST(StatedInputs, KnowEveryFigureOfACluster) {
  for (const std::string& key : stated_input_keys()) {
    std::string value = "3 us";
    if (key.ends_with("bandwidth")) value = "3 GB/s";
    if (key.starts_with("device.peak")) value = "3 TFLOP/s";
    if (key == "host.cores") value = "3";
    EXPECT_EQ(refusal(p40(), {{key, value}}), "") << key;
  }
}

TEST(StatedInputs, ScaleWhatWasMeasured) {
  Machine machine = fitted_gpu();
  const Machine scaled = stated(machine, {{"device.memory_bandwidth", "20 GB/s"}});
  const Machine expected = scaled_machine(machine, Hardware::memory_bandwidth, 2);
  for (std::size_t i = 0; i < machine.kernels.size(); ++i) {
    EXPECT_DOUBLE_EQ(scaled.kernels[i].time.value.si(), expected.kernels[i].time.value.si());
  }
  const Bytes some(1e6);
  EXPECT_DOUBLE_EQ(scaled.update.at(0).cost.time(some).value.si(),
                   expected.update.at(0).cost.time(some).value.si());
  machine.cluster.intra_node.latency = 2.0_us;
  const Machine at_once = stated(machine, {{"intra_node.latency", "0 s"}});
  EXPECT_EQ(at_once.collectives.at(0).cost.segments().front().alpha.value.si(), 0);
}

TEST(StatedInputs, TellHowPicturesAreDecodedInPlaceOfWhatWasMeasured) {
  const Machine machine = stated(fitted(), {{"host.decode", "7 ms"}});
  EXPECT_NEAR(machine.loaders.at(0).picture().value.si(), 7e-3 + synthetic::read_seconds, 1e-12);
}

TEST(StatedInputs, AreALinkOfTheirOwnBetweenNodesOfAFittedMachine) {
  const Machine machine =
      stated(fitted(), {{"inter_node.bandwidth", "1 GB/s"}, {"inter_node.latency", "5 us"}});
  EXPECT_TRUE(machine.inter_node_stated);
  EXPECT_DOUBLE_EQ(machine.cluster.inter_node.bandwidth.si(), 1e9);
  expect_refused(fitted(), {{"inter_node.latency", "5 us"}}, "inter_node.bandwidth beside it");
}

TEST(StatedInputs, AreRefusedWithAReason) {
  expect_refused(p40(), {{"inter_node.bandwith", "1 GB/s"}}, "inter_node.bandwidth");
  expect_refused(p40(), {{"inter_node.bandwidth", "1"}}, "the stated inter_node.bandwidth");
  expect_refused(p40(), {{"inter_node.bandwidth", "0 GB/s"}}, "the stated inter_node.bandwidth");
  expect_refused(p40(), {{"inter_node.bandwidth", "-1 GB/s"}}, "the stated inter_node.bandwidth");
  expect_refused(p40(), {{"inter_node.latency", "-1 us"}}, "the stated inter_node.latency");
  expect_refused(p40(), {{"host.cores", "1.5"}}, "whole number");
  expect_refused(p40(), {{"host.cores", "0"}}, "whole number");
  expect_refused(p40(), {{"host.cores", "2"}, {"host.cores", "3"}}, "twice");
  expect_refused(fitted(), {{"device.peak.f32", "1 TFLOP/s"}}, "changes nothing");
  expect_refused(fitted(), {{"storage.read_bandwidth", "1 GB/s"}}, "changes nothing");
  expect_refused(nominal_machine(load_cluster("h200x8")), {{"inter_node.latency", "1 us"}},
                 "NCCL's cost model");
  for (const char* text : {"", "=", "a=", "=1", "inter_node.bandwidth", " = "}) {
    EXPECT_THROW(parse_stated_input(text), ConfigError) << text;
  }
  EXPECT_EQ(parse_stated_input(" host.cores = 3 ").value, "3");
}

TEST(OtherDevice, OfDataSheetsIsThatOfItsCluster) {
  const DeviceSheet sheet = load_device_sheet("h200_sxm");
  std::vector<std::string> notes;
  const Machine machine = with_device(p40(), sheet, DType::f32, notes);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(machine.cluster.device.name, sheet.name);
  Cluster cluster = load_cluster("p40x16");
  cluster.device = nominal_device(sheet, cluster.device.launch);
  const Network network = load_network("alexnet");
  EXPECT_DOUBLE_EQ(iteration(machine, network, 4), iteration(nominal_machine(cluster), network, 4));
  const Stated quick_decoding{{"host.decode", "1 us"}};
  EXPECT_LT(iteration(stated(machine, quick_decoding), network, 1),
            iteration(stated(p40(), quick_decoding), network, 1));
}

TEST(OtherDevice, OfAFittedMachineKeepsShareOfTheCeilings) {
  const DeviceSheet sheet = load_device_sheet("h200_sxm");
  const Machine before = fitted_gpu();
  std::vector<std::string> notes;
  const Machine after = with_device(before, sheet, DType::f32, notes);
  ASSERT_EQ(after.kernels.size(), before.kernels.size());
  const double by_peak = 1e9 / sheet.peak.at(SheetFormat::f32).si();
  const double by_memory = 1e10 / sheet.memory_bandwidth.si();
  for (std::size_t i = 0; i < before.kernels.size(); ++i) {
    const Work work = before.kernels[i].work;
    const auto& time = after.kernels[i].time;
    const double least =
        std::max(work.flops.si() * by_peak / 1e9, work.bytes.si() * by_memory / 1e10);
    const double was = std::max(work.flops.si() / 1e9, work.bytes.si() / 1e10);
    EXPECT_NEAR(time.value / before.kernels[i].time.value, least / was, 1e-12);
    EXPECT_LE(time.low / before.kernels[i].time.low, std::min(by_peak, by_memory) + 1e-15);
    EXPECT_GE(time.high / before.kernels[i].time.high, std::max(by_peak, by_memory) - 1e-15);
  }
}

TEST(OtherDevice, IsRefusedWithAReason) {
  std::vector<std::string> notes;
  const DeviceSheet sheet = load_device_sheet("p40");
  EXPECT_THROW(with_device(fitted(), sheet, DType::f32, notes), ConfigError);  // a processor
  Machine unknown = fitted_gpu();
  unknown.cluster.device.peak.clear();
  EXPECT_THROW(with_device(unknown, sheet, DType::f32, notes), ConfigError);
  EXPECT_THROW(with_device(fitted_gpu(), sheet, DType::bf16, notes), ConfigError);
}

TEST(AddingSwitches, HaveAsManyLevelsAsTheirLinksTake) {
  const AddingSwitches switches;
  const std::pair<int, int> levels[] = {{1, 1}, {2, 1}, {18, 1}, {19, 2}, {324, 2}, {325, 3}};
  for (const auto& [nodes, level] : levels) EXPECT_EQ(levels_of(switches, nodes), level) << nodes;
  EXPECT_EQ(levels_of(switches, 2'000'000'000), 8);
}

/// 8 B on 128 hosts, as published; and streams at 95 % of the network, nearly twice a ring.
TEST(AddingSwitches, ReachWhatWasPublishedOfThem) {
  const collective::Link wire{Seconds(), SecondsPerByte(1 / 12.5e9), {}};
  const Placement hosts{128, 1};
  const auto time = [&](double bytes) {
    return in_network_all_reduce({}, {wire, {}}, hosts, Bytes(bytes)).si();
  };
  EXPECT_NEAR(time(8) * 1e6, 2.83, 0.01);             // C067
  EXPECT_NEAR(1e9 / time(1e9) / 12.5e9, 0.95, 1e-3);  // C069
  const double ring = 2.0 * 127 / 128 * 1e9 / 12.5e9;
  EXPECT_GT(ring / time(1e9), 1.8);
}

TEST(AddingSwitches, AreThereBetweenNodesOnly) {
  Machine machine = p40();
  machine.fitted = true;  // but no messages were measured
  Notes notes;
  const auto time = [&](int ranks) {
    return MessageTimes(machine, {ranks, 4}, Schedule::wait_free, notes)
        .time(Bytes(1e8))
        .value.si();
  };
  const double within = time(4);
  const double across = time(16);
  machine.all_reduce_override = adding_switches;
  EXPECT_DOUBLE_EQ(time(4), within);
  EXPECT_LT(time(16), across);
  const LinkSpec& inside = machine.cluster.intra_node;
  const LinkSpec& outside = machine.cluster.inter_node;
  const double expected = 6 * (inside.latency.si() + 1e8 / 4 / inside.bandwidth.si()) +
                          outside.latency.si() + 2 * 2.83e-6 / 4 +
                          1e8 / (0.95 * outside.bandwidth.si());
  EXPECT_NEAR(time(16), expected, 1e-9 * expected);
}

}  // namespace
}  // namespace dlscale::model
