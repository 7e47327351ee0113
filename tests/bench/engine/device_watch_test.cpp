#include "bench/quiet/device_watch.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "core/base/error.hpp"
#include "tests/bench/engine/fake_monitor.hpp"

namespace dlscale::bench {
namespace {

using backend::DeviceState;

std::vector<DeviceState> readings(FakeMonitor& monitor, int count) {
  std::vector<DeviceState> states;
  states.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) states.push_back(monitor.read());
  return states;
}

Measurement timed() {
  Measurement measurement;
  measurement.series["time"] = make_series("s", {{1.0}});
  return measurement;
}

TEST(DeviceWatch, ReadsAtTheStartAndAtTheEnd) {
  FakeMonitor monitor;
  const auto states = DeviceWatch(monitor, std::chrono::hours(1)).stop();
  ASSERT_EQ(states.size(), 2U);
  EXPECT_DOUBLE_EQ(states[0].energy_j.value(), 100);
  EXPECT_DOUBLE_EQ(states[1].energy_j.value(), 103);
}

TEST(DeviceWatch, KeepsReadingInBetween) {
  FakeMonitor monitor;
  DeviceWatch watch(monitor, std::chrono::milliseconds(0));
  while (monitor.readings() < 4) std::this_thread::yield();
  const auto states = watch.stop();
  EXPECT_GE(states.size(), 5U);
  EXPECT_EQ(static_cast<int>(states.size()), monitor.readings());
  for (std::size_t i = 0; i < states.size(); ++i) {
    EXPECT_DOUBLE_EQ(states[i].energy_j.value(), 100 + 3 * static_cast<double>(i));
  }
}

TEST(DeviceWatch, ForgetsWhatWasReadBeforeItStartsAnew) {
  FakeMonitor monitor;
  DeviceWatch watch(monitor, std::chrono::hours(1));
  watch.start_anew();
  const auto states = watch.stop();  // at once: the reading is made up for
  ASSERT_EQ(states.size(), 2U);
  EXPECT_DOUBLE_EQ(states[0].energy_j.value(), 103);
  EXPECT_DOUBLE_EQ(states[1].energy_j.value(), 106);
}

TEST(DeviceWatch, KeepsReadingAfterItStartsAnew) {
  FakeMonitor monitor;
  DeviceWatch watch(monitor, std::chrono::milliseconds(0));
  while (monitor.readings() < 4) std::this_thread::yield();
  watch.start_anew();
  while (monitor.readings() < 9) std::this_thread::yield();
  const auto states = watch.stop();
  ASSERT_GE(states.size(), 2U);
  EXPECT_LE(static_cast<int>(states.size()), monitor.readings() - 4);
  EXPECT_DOUBLE_EQ(states.back().energy_j.value(), 100 + 3.0 * (monitor.readings() - 1));
}

TEST(DeviceWatch, EndsWithTheWorkThatFails) {
  FakeMonitor monitor;
  { const DeviceWatch watch(monitor, std::chrono::hours(1)); }
  EXPECT_EQ(monitor.readings(), 1);
}

TEST(Evenly, KeepsTheFirstAndTheLast) {
  FakeMonitor monitor;
  const auto states = readings(monitor, 11);
  const auto chosen = evenly(states, 3);
  ASSERT_EQ(chosen.size(), 3U);
  EXPECT_DOUBLE_EQ(chosen[0].energy_j.value(), 100);
  EXPECT_DOUBLE_EQ(chosen[1].energy_j.value(), 115);
  EXPECT_DOUBLE_EQ(chosen[2].energy_j.value(), 130);
  EXPECT_EQ(evenly(states, 11).size(), 11U);
}

TEST(EnergyOfEach, IsWhatTheCounterWentOnBy) {
  FakeMonitor monitor;
  const auto states = readings(monitor, 21);
  EXPECT_DOUBLE_EQ(energy_of_each(states, 20).value(), 3);
  EXPECT_DOUBLE_EQ(energy_of_each(states, 60).value(), 1);
}

TEST(EnergyOfEach, IsUnknownWhereTheCounterTellsTooLittle) {
  FakeMonitor monitor;
  auto states = readings(monitor, 21);
  EXPECT_FALSE(energy_of_each(states, 0));
  EXPECT_FALSE(energy_of_each(std::span(states).first(10), 20));  // nine steps
  EXPECT_TRUE(energy_of_each(std::span(states).first(11), 20));
  auto reset = states;
  reset[10].energy_j = 0;
  EXPECT_FALSE(energy_of_each(reset, 20));
  states[5].energy_j.reset();
  EXPECT_FALSE(energy_of_each(states, 20));
}

class Conditions : public testing::Test {
 protected:
  [[nodiscard]] backend::Communicator& communicator() const { return *group_.front(); }

 private:
  std::vector<std::unique_ptr<backend::Communicator>> group_ = backend::local_group(1);
};

TEST_F(Conditions, AreSeriesOfTheReadings) {
  FakeMonitor monitor;
  Measurement measurement = timed();
  add_conditions(measurement, readings(monitor, 20), 19, communicator());
  EXPECT_EQ(measurement.at("processor_clock").unit, "Hz");
  EXPECT_EQ(measurement.at("processor_clock").samples.front().size(), 20U);
  EXPECT_DOUBLE_EQ(measurement.at("processor_clock").samples.front().back(), 1e9 - 19);
  EXPECT_EQ(measurement.at("memory_clock").summary.median, 2e9);
  EXPECT_EQ(measurement.at("power").unit, "W");
  EXPECT_EQ(measurement.at("throttle_reasons").summary.max, 0);
  EXPECT_EQ(measurement.at("energy").samples, (std::vector<std::vector<double>>{{3.0}}));
  EXPECT_FALSE(measurement.series.contains("temperature"));  // which this device does not tell
  EXPECT_TRUE(measurement.warnings.empty());
}

TEST_F(Conditions, WarnOfThrottling) {
  FakeMonitor monitor(0x4 | 0x40);
  Measurement measurement = timed();
  add_conditions(measurement, readings(monitor, 3), 1, communicator());
  ASSERT_EQ(measurement.warnings.size(), 1U);
  EXPECT_NE(measurement.warnings[0].find("3 of 3 readings (power limit, temperature limit of the "
                                         "hardware)"),
            std::string::npos)
      << measurement.warnings[0];
}

TEST_F(Conditions, DoNotWarnOfAnIdleDevice) {
  FakeMonitor monitor(0x1);
  Measurement measurement = timed();
  add_conditions(measurement, readings(monitor, 3), 1, communicator());
  EXPECT_TRUE(measurement.warnings.empty());
}

TEST_F(Conditions, AreReadAroundTheWorkWithTheNumberOfItsRuns) {
  const auto monitor = std::make_shared<FakeMonitor>();
  const DeviceWitness witness{monitor, {}};
  const Measurement result = with_conditions(witness, communicator(), [&](std::size_t& runs) {
    EXPECT_GE(monitor->readings(), 1);
    while (monitor->readings() < 12) std::this_thread::yield();
    runs = 1000;
    return timed();
  });
  EXPECT_GE(result.at("power").samples.front().size(), 13U);
  EXPECT_NEAR(result.at("energy").summary.median, 3e-3 * (monitor->readings() - 1), 1e-9);
  EXPECT_TRUE(result.warnings.empty());
}

TEST_F(Conditions, WarnOfOtherProcessesOnTheDevice) {
  const auto warned = [&](int processes) {
    const DeviceWitness witness{std::make_shared<FakeMonitor>(0, processes), {}};
    return with_conditions(witness, communicator(), [](std::size_t&) { return timed(); }).warnings;
  };
  EXPECT_TRUE(warned(0).empty());  // in a container that does not see them
  EXPECT_TRUE(warned(1).empty());
  ASSERT_EQ(warned(2).size(), 1U);
  EXPECT_EQ(warned(2).front().find("1 other process had the GPU open"), 0U) << warned(2).front();
  EXPECT_EQ(warned(4).front().find("3 other processes had the GPU open"), 0U);
}

TEST_F(Conditions, AreMissedWithTheReason) {
  const DeviceWitness witness{nullptr, "there is no NVML here"};
  const Measurement result =
      with_conditions(witness, communicator(), [](std::size_t&) { return timed(); });
  EXPECT_EQ(result.warnings, std::vector<std::string>{"there is no NVML here"});
  EXPECT_EQ(result.series.size(), 1U);
}

TEST_F(Conditions, AreNotReadWhereThereAreNoTimes) {
  const DeviceWitness witness{nullptr, "there is no NVML here"};
  const Measurement result =
      with_conditions(witness, communicator(), [](std::size_t&) { return Measurement{}; });
  EXPECT_TRUE(result.warnings.empty());
}

TEST(ConditionsOfRanks, AreCutToWhatAllHave) {
  const auto group = backend::local_group(2);
  std::vector<Measurement> results(2);
  {
    std::vector<std::jthread> ranks;
    ranks.reserve(2);
    for (int rank = 0; rank < 2; ++rank) {
      ranks.emplace_back([&, rank] {
        FakeMonitor monitor;
        results[rank] = timed();
        add_conditions(results[rank], readings(monitor, 4 + 3 * rank), 1, *group[rank]);
      });
    }
  }
  for (const Measurement& result : results) {
    ASSERT_EQ(result.at("power").samples.size(), 2U);
    EXPECT_EQ(result.at("power").samples[0].size(), 4U);
    EXPECT_EQ(result.at("power").samples[1].size(), 4U);
    EXPECT_DOUBLE_EQ(result.at("processor_clock").samples[1].back(), 1e9 - 6);
    EXPECT_FALSE(result.series.contains("energy"));  // too few readings for it
  }
}

TEST(ConditionsOfRanks, AreLeftOutForAllWhereOneHasNone) {
  const auto group = backend::local_group(2);
  std::vector<Measurement> results(2);
  {
    std::vector<std::jthread> ranks;
    ranks.reserve(2);
    for (int rank = 0; rank < 2; ++rank) {
      ranks.emplace_back([&, rank] {
        FakeMonitor monitor;
        results[rank] = timed();
        add_conditions(results[rank], readings(monitor, 5 * rank), 1, *group[rank]);
      });
    }
  }
  for (const Measurement& result : results) EXPECT_EQ(result.series.size(), 1U);
}

TEST(Witness, IsNotLookedForWhereTheHostComputes) {
  const auto host = family<backend::ComputeBackend>().find("reference")->open({});
  EXPECT_FALSE(witness_of(*host));
}

TEST(Witness, SaysWhyThereIsNone) {
  const DeviceWitness witness = open_witness("ffff:ff:1f.7");  // no GPU is there, nor need be NVML
  EXPECT_EQ(witness.monitor, nullptr);
  EXPECT_NE(witness.absent_because.find("clocks, power and temperature"), std::string::npos);
}

}  // namespace
}  // namespace dlscale::bench
