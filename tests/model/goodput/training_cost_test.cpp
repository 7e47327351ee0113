#include "model/goodput/training_cost.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>

#include "core/base/error.hpp"
#include "model/goodput/failure_facts.hpp"
#include "model/goodput/job_failures.hpp"

namespace dlscale::model::goodput {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();

/// A month on 512 GPUs of 64 nodes.
CostQuestion usual_question() {
  CostQuestion question;
  question.title = "test";
  question.iteration = question.iteration_low = question.iteration_high = Seconds(5);
  question.samples_per_iteration = 4e6;
  question.samples = 2e12;
  question.devices = 512;
  question.devices_per_node = 8;
  question.state = Bytes(1e12);
  question.storage = {BytesPerSecond(50e9), true};
  question.host_link = BytesPerSecond(60e9);
  question.power.board_w = 700;
  question.price_per_device_hour = 2;
  return question;
}

CostQuestion without_failures(CostQuestion question) {
  question.mtbf.all_h = never;
  return question;
}

TEST(TrainingCost, IsIterationsAloneWithoutFailures) {
  const TrainingCost cost = training_cost(without_failures(usual_question()));
  EXPECT_EQ(cost.iterations, 5e5);
  EXPECT_EQ(cost.time_s, Uncertain::exactly(2.5e6));
  EXPECT_EQ(cost.plain_s, cost.time_s);
  EXPECT_EQ(cost.failures.value, 0);
  EXPECT_EQ(cost.goodput, Uncertain::exactly(1));
  EXPECT_TRUE(std::isinf(cost.checkpoint_every.si()));
  EXPECT_TRUE(std::isinf(cost.mtbf.si()));
  EXPECT_NEAR(cost.device_hours.value, 512 * 2.5e6 / 3600, 1e-6);
  EXPECT_NEAR(cost.price.value().value, 2 * cost.device_hours.value, 1e-6);
}

TEST(TrainingCost, AddsUp) {
  CostQuestion question = usual_question();
  question.spares = 1;
  const TrainingCost cost = training_cost(question);
  const TimeShares& shares = cost.shares;
  EXPECT_NEAR(
      shares.useful + shares.checkpoints + shares.repeated + shares.restarts + shares.waiting, 1,
      1e-12);
  EXPECT_NEAR(cost.time_s.value, cost.plain_s.value / cost.goodput.value, 1e-6);
  double failures = 0;
  for (const double of : cost.failures_of) failures += of;
  EXPECT_NEAR(failures, cost.failures.value, 1e-9);
  EXPECT_NEAR(cost.failures.value, cost.time_s.value * (1 - shares.waiting) / cost.mtbf.si(), 1e-6);
  EXPECT_NEAR(cost.device_hours.value, 520 * cost.time_s.value / 3600, 1e-6);
}

TEST(TrainingCost, HasPowerAndExpectedTimeOfItsOwn) {
  CostQuestion question = usual_question();
  question.shares = {0.6, 0.3, 0.1};
  question.power.pue = 1.2;
  const TrainingCost cost = training_cost(question);
  const double watts = phase_watts(question).value().mean(question.shares);
  EXPECT_NEAR(cost.plain_kwh.value().value / (512 * watts * cost.plain_s.value / 3.6e6), 1, 1e-12);
  EXPECT_GT(phase_watts(question)->computing, phase_watts(question)->exposed);
  EXPECT_GT(phase_watts(question)->exposed, phase_watts(question)->idle);
  EXPECT_EQ(expected_time(question, question.iteration).si(), cost.time_s.value);
  question.iteration = question.iteration_low = question.iteration_high = Seconds(7);
  EXPECT_EQ(expected_time(usual_question(), Seconds(7)).si(), training_cost(question).time_s.value);
  question.power.board_w.reset();
  EXPECT_FALSE(phase_watts(question));
}

TEST(TrainingCost, NeverGainsFromMoreFailures) {
  double last = 0;
  for (const double hours : {300.0, 1000.0, 1e4, 1e5, 1e7}) {
    CostQuestion question = usual_question();
    question.mtbf.all_h = hours;
    for (const bool asynchronous : {false, true}) {
      question.checkpoint.asynchronous = asynchronous;
      EXPECT_GE(training_cost(question).goodput.value, last) << hours;
    }
    question.checkpoint.asynchronous = false;
    last = training_cost(question).goodput.value;
    question.devices *= 2;
    EXPECT_LE(training_cost(question).goodput.value, last) << hours;
  }
}

TEST(TrainingCost, HasIntervalsThatHoldTheValue) {
  CostQuestion question = usual_question();
  question.iteration_low = Seconds(4.5);
  question.iteration_high = Seconds(6);
  const TrainingCost cost = training_cost(question);
  for (const Uncertain& one : {cost.plain_s, cost.time_s, cost.device_hours, *cost.price, *cost.kwh,
                               *cost.plain_kwh, cost.goodput, cost.failures}) {
    EXPECT_LT(one.low, one.value);
    EXPECT_GE(one.high, one.value);
  }
  EXPECT_NEAR(cost.plain_s.low / cost.plain_s.value, 0.9, 1e-9);
  EXPECT_NEAR(cost.plain_s.high / cost.plain_s.value, 1.2, 1e-9);
  EXPECT_GT(cost.time_s.high / cost.time_s.value, 1.2);
}

TEST(TrainingCost, TakesTheCheckpointIntervalThatIsAskedFor) {
  CostQuestion question = usual_question();
  const TrainingCost best = training_cost(question);
  question.checkpoint.every = Seconds(6 * 3600.0);
  const TrainingCost rare = training_cost(question);
  EXPECT_TRUE(best.checkpoint_is_best);
  EXPECT_FALSE(rare.checkpoint_is_best);
  EXPECT_EQ(rare.checkpoint_every, Seconds(6 * 3600.0));
  EXPECT_LT(rare.goodput.value, best.goodput.value);
  EXPECT_LT(rare.shares.checkpoints, best.shares.checkpoints);
}

TEST(TrainingCost, WritesCheckpointsInTheBackground) {
  CostQuestion question = usual_question();
  const TrainingCost blocking = training_cost(question);
  question.checkpoint.asynchronous = true;
  const TrainingCost background = training_cost(question);
  EXPECT_EQ(background.checkpoint_write, blocking.checkpoint_stall);
  EXPECT_NEAR(background.checkpoint_stall.si(), 1e12 / (512 * 60e9), 1e-9);
  EXPECT_GT(background.goodput.value, blocking.goodput.value);
  question.checkpoint.every = Seconds(1);
  EXPECT_THROW(training_cost(question), ConfigError);
}

TEST(TrainingCost, CountsDisksOfAllNodes) {
  CostQuestion question = usual_question();
  question.storage.shared_by_nodes = false;
  const CheckpointTimes times = checkpoint_times(question, 0.5, 2);
  EXPECT_NEAR(times.stall.si(), 2e12 / (0.5 * 64 * 50e9), 1e-9);
  EXPECT_NEAR(times.read.si(), 1e12 / (64 * 50e9), 1e-9);
}

TEST(TrainingCost, StatedPowerReplacesTheAssumedOne) {
  CostQuestion question = without_failures(usual_question());
  question.power = {700, 500, 200, 1.25};
  const TrainingCost cost = training_cost(question);
  EXPECT_NEAR(cost.kwh.value().value, 1.25 * 0.7 * cost.device_hours.value, 1e-3);
  EXPECT_EQ(cost.kwh->low, cost.kwh->high);
  question.power = {};
  EXPECT_FALSE(training_cost(question).kwh.has_value());
}

TEST(TrainingCost, OfExposedMessagesTakesLessPower) {
  CostQuestion question = usual_question();
  const double computing = training_cost(question).plain_kwh.value().value;
  question.shares = {0.6, 0.3, 0.1};
  EXPECT_LT(training_cost(question).plain_kwh.value().value, computing);
}

TEST(TrainingCost, WithFewSparesWaits) {
  CostQuestion question = usual_question();
  question.devices = 16384;
  const TrainingCost enough = training_cost(question);
  EXPECT_GT(enough.spares_for_95, 5);
  question.spares = 0;
  const TrainingCost none = training_cost(question);
  EXPECT_GT(none.shares.waiting, 0.2);
  question.spares = enough.spares_for_95;
  EXPECT_LT(training_cost(question).shares.waiting, 0.05);
}

TEST(TrainingCost, OfProcessorsHasNoFailuresOfGpus) {
  CostQuestion question = usual_question();
  question.has_gpus = false;
  const auto failures = failures_per_s(question, failure_facts(), 1);
  EXPECT_EQ(failures[static_cast<std::size_t>(Component::device)], 0);
  EXPECT_GT(failures[static_cast<std::size_t>(Component::host)], 0);
}

TEST(TrainingCost, IsFiniteAtExtremes) {
  for (const int devices : {1, 1'000'000}) {
    for (const double read : {0.0, 1e6, never}) {
      for (const double hours : {5e3, 5e4, never}) {
        CostQuestion question = usual_question();
        question.devices = devices;
        question.storage.read = BytesPerSecond(read);
        question.state = Bytes(1e10);
        question.mtbf.all_h = hours;
        const auto expect_finite = [&] {
          const TrainingCost cost = training_cost(question);
          for (const Uncertain& one : {cost.time_s, cost.goodput, cost.failures, *cost.kwh}) {
            EXPECT_TRUE(std::isfinite(one.low) && std::isfinite(one.value) &&
                        std::isfinite(one.high));
          }
          EXPECT_FALSE(std::isnan(cost.checkpoint_every.si()));
        };
        try {
          expect_finite();
        } catch (const ConfigError& error) {
          EXPECT_NE(std::string(error.what()).find("would not end"), std::string::npos);
        }
      }
    }
  }
}

/// A question whose numbers are random over many decades.
CostQuestion random_question(std::mt19937_64& engine) {
  const auto decades = [&](double least, double most) {
    const double at = static_cast<double>(engine() >> 11U) * 0x1p-53;
    return std::pow(10.0, least + at * (most - least));
  };
  CostQuestion question = usual_question();
  question.iteration = Seconds(decades(-4, 3));
  question.iteration_low = question.iteration * decades(-1, 0);
  question.iteration_high = question.iteration * decades(0, 1);
  question.samples = question.samples_per_iteration * decades(0, 8);
  question.devices = static_cast<int>(decades(0, 6));
  question.devices_per_node = static_cast<int>(decades(0, 2));
  question.state = Bytes(decades(3, 14));
  question.storage = {BytesPerSecond(decades(6, 13)), engine() % 2 == 0};
  question.mtbf.all_h = decades(2, 9);
  question.checkpoint.asynchronous = engine() % 2 == 0;
  if (engine() % 2 == 0) question.spares = static_cast<int>(engine() % 100);
  return question;
}

TEST(TrainingCost, OfRandomTrainingsIsFiniteAndFallsWithFailures) {
  std::mt19937_64 engine(5);
  int ended = 0;
  for (int i = 0; i < 300; ++i) {
    CostQuestion question = random_question(engine);
    try {
      const TrainingCost cost = training_cost(question);
      for (const Uncertain& one : {cost.time_s, cost.device_hours, *cost.price, *cost.kwh}) {
        ASSERT_TRUE(one.low > 0 && one.low <= one.value && one.value <= one.high) << i;
        ASSERT_TRUE(std::isfinite(one.high)) << i;
      }
      ASSERT_GE(cost.time_s.value, cost.plain_s.value) << i;
      *question.mtbf.all_h *= 0.5;
      ASSERT_LE(training_cost(question).goodput.value, cost.goodput.value * (1 + 1e-9)) << i;
      ++ended;
    } catch (const ConfigError&) {
      continue;  // a training that would not end
    }
  }
  EXPECT_GT(ended, 150);
}

TEST(TrainingCost, RefusesATrainingThatWouldNotEnd) {
  CostQuestion question = usual_question();
  question.devices = 1'000'000;
  question.mtbf.all_h = 10;
  EXPECT_THROW(training_cost(question), ConfigError);
}

}  // namespace
}  // namespace dlscale::model::goodput
