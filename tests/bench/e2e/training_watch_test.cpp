#include "bench/e2e/training_watch.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "tests/bench/engine/fake_monitor.hpp"

namespace dlscale::bench {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

/// Four iterations of each of `ranks`.
Measurement trained(std::size_t ranks = 1) {
  Measurement measurement;
  const std::vector<double> iterations{0.1, 0.1, 0.1, 0.1};
  measurement.series["t_iter"] =
      make_series("s", std::vector<std::vector<double>>(ranks, iterations));
  return measurement;
}

void wait_for(const FakeMonitor& monitor, int readings) {
  while (monitor.readings() < readings) std::this_thread::yield();
}

class Training : public testing::Test {
 protected:
  [[nodiscard]] backend::Communicator& communicator() const { return *group_.front(); }
  [[nodiscard]] const std::shared_ptr<FakeMonitor>& monitor() const { return monitor_; }
  [[nodiscard]] DeviceWitness witness() const { return {monitor_, {}}; }

 private:
  std::vector<std::unique_ptr<backend::Communicator>> group_ = backend::local_group(1);
  std::shared_ptr<FakeMonitor> monitor_ = std::make_shared<FakeMonitor>();
};

TEST_F(Training, IsWatchedFromTheEndOfTheWarmUpOn) {
  TrainingWatch watch(witness(), hours(1));
  watch.warmed_up();
  watch.stop();
  Measurement measurement = trained();
  watch.add_to(measurement, communicator());
  const auto& clocks = measurement.at("processor_clock").samples.front();
  EXPECT_EQ(clocks, (std::vector<double>{1e9 - 1, 1e9 - 2}));
  EXPECT_FALSE(measurement.series.contains("energy"));  // too few readings for it
}

TEST_F(Training, IsWatchedFromTheStartIfThereIsNoWarmUp) {
  TrainingWatch watch(witness(), hours(1));
  watch.stop();
  Measurement measurement = trained();
  watch.add_to(measurement, communicator());
  const auto& clocks = measurement.at("processor_clock").samples.front();
  EXPECT_EQ(clocks, (std::vector<double>{1e9, 1e9 - 1}));
}

TEST_F(Training, HasTheEnergyOfAnIteration) {
  TrainingWatch watch(witness(), milliseconds(0));
  wait_for(*monitor(), 20);
  watch.warmed_up();
  wait_for(*monitor(), monitor()->readings() + 20);
  watch.stop();
  Measurement measurement = trained();
  watch.add_to(measurement, communicator());
  const auto readings = static_cast<double>(measurement.at("power").samples.front().size());
  EXPECT_GE(readings, 18);
  EXPECT_DOUBLE_EQ(measurement.at("energy").summary.median, 3 * (readings - 1) / 4);
}

TEST_F(Training, IsNotWatchedWithoutAWitness) {
  TrainingWatch watch(std::nullopt);
  watch.warmed_up();
  watch.stop();
  Measurement measurement = trained();
  watch.add_to(measurement, communicator());
  EXPECT_EQ(measurement.series.size(), 1U);
  EXPECT_TRUE(measurement.warnings.empty());
}

TEST_F(Training, SaysWhyItWasNotWatched) {
  TrainingWatch watch(DeviceWitness{nullptr, "there is no NVML here"});
  watch.warmed_up();
  watch.stop();
  Measurement measurement = trained();
  watch.add_to(measurement, communicator());
  EXPECT_EQ(measurement.warnings, std::vector<std::string>{"there is no NVML here"});
}

TEST_F(Training, HasNoConditionsWhereItHasNoTimes) {
  TrainingWatch watch(witness(), hours(1));
  watch.stop();
  Measurement measurement;
  watch.add_to(measurement, communicator());
  EXPECT_TRUE(measurement.series.empty());
}

TEST(TrainingOfRanks, IsWatchedByEach) {
  const auto group = backend::local_group(2);
  std::vector<Measurement> results(2, trained(2));
  {
    std::vector<std::jthread> ranks;
    ranks.reserve(group.size());
    for (std::size_t rank = 0; rank < group.size(); ++rank) {
      ranks.emplace_back([&, rank] {
        TrainingWatch watch(DeviceWitness{std::make_shared<FakeMonitor>(rank), {}}, hours(1));
        watch.stop();
        watch.add_to(results[rank], *group[rank]);
      });
    }
  }
  for (const Measurement& result : results) {
    EXPECT_EQ(result.at("throttle_reasons").samples,
              (std::vector<std::vector<double>>{{0, 0}, {1, 1}}));
  }
}

}  // namespace
}  // namespace dlscale::bench
