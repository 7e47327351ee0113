#include "bench/e2e/training_watch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

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

using testing::HasSubstr;

/// The times of each rank, in each of 20 iterations.
Series constant(const std::vector<double>& by_rank) {
  std::vector<std::vector<double>> samples;
  samples.reserve(by_rank.size());
  for (const double each : by_rank) samples.emplace_back(20, each);
  return make_series("s", std::move(samples));
}

std::map<std::string, Series> phases(const std::vector<double>& backward,
                                     const std::vector<double>& exposed) {
  return {{"t_iter", constant(std::vector<double>(backward.size(), 10e-3))},
          {"t_io", constant(std::vector<double>(backward.size(), 1e-3))},
          {"t_h2d", constant(std::vector<double>(backward.size(), 0))},
          {"t_f", constant(std::vector<double>(backward.size(), 2e-3))},
          {"t_b", constant(backward)},
          {"t_comm_exposed", constant(exposed)},
          {"t_u", constant(std::vector<double>(backward.size(), 1e-3))}};
}

TEST(LongestRank, IsNamedThoughAllIterationsTakeEquallyLong) {
  const auto warnings = longest_rank_warnings(phases({3e-3, 5e-3, 3e-3}, {3e-3, 1e-3, 3e-3}));
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_THAT(warnings.front(),
              HasSubstr("rank 1 computes longest in 100 % of the iterations, by 20 "
                        "% of their time, most of it in backward"));
}

TEST(LongestRank, IsNobodyWhereItChangesNothing) {
  EXPECT_TRUE(longest_rank_warnings(phases({3e-3, 3.4e-3}, {3e-3, 2.6e-3})).empty());
  EXPECT_TRUE(longest_rank_warnings(phases({3e-3}, {0})).empty());
  auto untimed = phases({3e-3, 5e-3}, {3e-3, 1e-3});
  untimed.erase("t_f");
  EXPECT_TRUE(longest_rank_warnings(untimed).empty());
}

}  // namespace
}  // namespace dlscale::bench
