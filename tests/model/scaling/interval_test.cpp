#include "model/published/scaling/fit/interval.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "model/published/scaling/time/scaled_time.hpp"
#include "tests/model/scaling/trainings.hpp"

namespace dlscale::model::scaling {
namespace {

TEST(WeightedQuantile, OfEqualWeightsIsHazens) {
  const std::vector<Weighted> values = {{4, 1}, {1, 1}, {3, 1}, {2, 1}};
  EXPECT_DOUBLE_EQ(weighted_quantile(values, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(weighted_quantile(values, 0.125), 1);
  EXPECT_DOUBLE_EQ(weighted_quantile(values, 0.25), 1.5);
  EXPECT_DOUBLE_EQ(weighted_quantile(values, 0), 1);
  EXPECT_DOUBLE_EQ(weighted_quantile(values, 1), 4);
}

TEST(WeightedQuantile, CountsByWeight) {
  EXPECT_DOUBLE_EQ(weighted_quantile({{1, 98}, {2, 1}, {3, 1}}, 0.49), 1);
  EXPECT_DOUBLE_EQ(weighted_quantile({{1, 1}, {2, 98}, {3, 1}}, 0.5), 2);
  EXPECT_DOUBLE_EQ(weighted_quantile({{7, 0.3}}, 0.9), 7);
}

ScaledTime time_of(double total, double overhead) {
  ScaledTime time;
  time.compute = Seconds(total * (1 - overhead));
  time.transfer = Seconds(total * overhead);
  time.total = Seconds(total);
  time.overhead = overhead;
  return time;
}

ErrorModel some_errors() {
  ErrorModel errors;
  errors.shift = 0.02;
  errors.base = 0.01;
  errors.of_overhead = 0.1;
  errors.of_small_batch = 0.2;
  errors.of_nodes = 0.3;
  errors.of_doubt = 0.4;
  errors.of_hidden = 0.5;
  errors.low = -1;
  errors.high = 2;
  return errors;
}

TEST(Interval, FollowsItsEquation) {
  const ErrorModel errors = some_errors();
  TrainingFacts facts = training(1, 8);
  const IntervalTime on_node = with_interval(time_of(2, 0.5), facts, errors);
  EXPECT_DOUBLE_EQ(on_node.value.si(), 2 * std::exp(0.01));
  EXPECT_DOUBLE_EQ(on_node.low.si(), 2 * std::exp(0.01 - 0.06));
  EXPECT_DOUBLE_EQ(on_node.high.si(), 2 * std::exp(0.01 + 0.12));

  facts = training(2, 8);
  facts.batch = 16;
  const IntervalTime over_nodes = with_interval(time_of(2, 0.5), facts, errors);
  EXPECT_DOUBLE_EQ(over_nodes.high.si(), 2 * std::exp(0.01 + 2 * 0.56));

  ScaledTime unsure = time_of(2, 0.5);  // 1 s of communication, all exposed
  unsure.communication = Seconds(1.5);
  unsure.in_doubt = Seconds(0.2);
  const IntervalTime wider = with_interval(unsure, training(1, 8), errors);
  EXPECT_DOUBLE_EQ(wider.value.si(), on_node.value.si());
  EXPECT_DOUBLE_EQ(wider.high.si(), 2 * std::exp(0.01 + 2 * (0.06 + 0.04 + 0.125)));
}

TEST(Interval, OfTheGivenPointIsItsNoise) {
  ScaledTime time = time_of(2, 0.5);
  time.differs = 0;
  const IntervalTime given = with_interval(time, training(1, 8), some_errors());
  EXPECT_DOUBLE_EQ(given.value.si(), 2);
  EXPECT_DOUBLE_EQ(given.low.si(), 2 * std::exp(-0.005));
  EXPECT_DOUBLE_EQ(given.high.si(), 2 * std::exp(0.01));
  time.differs = 0.5;
  const IntervalTime near = with_interval(time, training(1, 8), some_errors());
  EXPECT_DOUBLE_EQ(near.value.si(), 2 * std::exp(0.005));
  EXPECT_DOUBLE_EQ(near.high.si(), 2 * std::exp(0.005 + 2 * (0.03 + 0.0025)));
}

TEST(Interval, IsWiderWhereTheOverlapIsNotTold) {
  // Such a training itself, between two that tell.
  const TrainingFacts unknown = on_ethernet(4, 4, cases::Overlap::unknown);
  TrainingFacts told = unknown;
  told.overlap = cases::Overlap::bucketed;
  const auto width = [](const TrainingFacts& facts) {
    ErrorModel errors = some_errors();
    errors.of_hidden = 0;
    errors.of_overhead = 0;
    const ScaledTime time = ScalingModel(facts).time(Parameters::prior());
    const IntervalTime interval = with_interval(time, facts, errors);
    return interval.high / interval.low;
  };
  EXPECT_GT(width(unknown), width(told));
}

/// Trainings of all kinds with errors of Laplace's distribution.
struct Drawn {
  std::vector<TrainingFacts> facts;
  std::vector<LeftOut> left_out;
};

Drawn drawn(const ErrorModel& truth, int count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::exponential_distribution<double> exponential(1);
  Drawn all;
  for (int i = 0; i < count; ++i) {
    all.facts.push_back(training(i % 2 == 0 ? 1 : 4, 8));
    if (i % 5 == 0) all.facts.back().batch = 8;
  }
  for (int i = 0; i < count; ++i) {
    const TrainingFacts& facts = all.facts[static_cast<std::size_t>(i)];
    const double overhead = 0.8 * uniform(random);
    const double doubt = i % 3 == 0 ? 0.3 * uniform(random) : 0;
    const double hidden = i % 4 == 0 ? uniform(random) : 0;
    const double s = truth.base + truth.of_overhead * overhead +
                     (i % 5 == 0 ? truth.of_small_batch : 0) + (i % 2 == 0 ? 0 : truth.of_nodes) +
                     truth.of_doubt * doubt + truth.of_hidden * hidden;
    const double error = (uniform(random) < 0.5 ? -1 : 1) * exponential(random) * s;
    LeftOut one;
    one.facts = &facts;
    one.predicted = time_of(0.5, overhead);
    one.predicted.in_doubt = Seconds(0.5 * doubt);
    one.predicted.communication = one.predicted.transfer + Seconds(0.5 * hidden);
    one.measured = 0.5 * std::exp(truth.shift * (1 - overhead) + error) * 1.0_s;
    one.weight = i % 3 == 0 ? 2 : 1;
    all.left_out.push_back(one);
  }
  return all;
}

ErrorModel interval_truth() {
  ErrorModel errors;
  errors.shift = 0.03;
  errors.base = 0.02;
  errors.of_overhead = 0.1;
  errors.of_small_batch = 0.05;
  errors.of_nodes = 0.03;
  errors.of_doubt = 0.2;
  errors.of_hidden = 0.06;
  return errors;
}

TEST(FitErrors, FindsWhatErrorsWereDrawnFrom) {
  const Drawn all = drawn(interval_truth(), 6000, 3);
  const ErrorModel found = fit_errors(all.left_out);
  EXPECT_NEAR(found.shift, 0.03, 0.003);
  EXPECT_NEAR(found.base, 0.02, 0.003);
  EXPECT_NEAR(found.of_overhead, 0.1, 0.015);
  EXPECT_NEAR(found.of_small_batch, 0.05, 0.01);
  EXPECT_NEAR(found.of_nodes, 0.03, 0.006);
  EXPECT_NEAR(found.of_doubt, 0.2, 0.05);
  EXPECT_NEAR(found.of_hidden, 0.06, 0.015);
  const double laplace = std::log(0.1);  // 5 % of Laplace's distribution are below ln(2 · 0.05)
  EXPECT_NEAR(found.low, laplace, 0.4);  // about its middle the shortest interval is vague
  EXPECT_NEAR(found.high, -laplace, 0.4);
  EXPECT_NEAR(found.high - found.low, -2 * laplace, 0.2);
}

TEST(FitErrors, TakesTheShortestIntervalOfLopsidedErrors) {
  std::mt19937 random(6);
  std::exponential_distribution<double> exponential(1);
  const TrainingFacts facts = training(1, 8);
  std::vector<LeftOut> all;
  for (int i = 0; i < 4000; ++i) {
    LeftOut one;
    one.facts = &facts;
    one.predicted = time_of(0.5, 0);
    one.measured = Seconds(0.5 * std::exp(0.05 * exponential(random)));
    all.push_back(one);
  }
  const ErrorModel found = fit_errors(all);
  // The shortest that holds 90 % of an exponential distribution begins at its start.
  const IntervalTime interval = with_interval(time_of(0.5, 0), facts, found);
  EXPECT_NEAR(std::log(interval.low.si() / 0.5), 0, 0.002);
  EXPECT_NEAR(std::log(interval.high.si() / 0.5), 0.05 * std::log(10), 0.008);
}

TEST(FitErrors, PointsThatAreTheGivenOnesSayNothing) {
  const Drawn others = drawn(interval_truth(), 300, 7);
  std::vector<LeftOut> all = others.left_out;
  const ErrorModel without = fit_errors(all);
  LeftOut given = all.front();
  given.predicted.differs = 0;
  given.measured = given.predicted.total;
  EXPECT_TRUE(std::isfinite(fit_errors(std::vector{given, given}).base));
  all.push_back(given);
  EXPECT_NEAR(fit_errors(all).shift, without.shift, 1e-6);
}

TEST(FitErrors, HoldsNineOfTenOfOthers) {
  const ErrorModel found = fit_errors(drawn(interval_truth(), 400, 4).left_out);
  const Drawn others = drawn(interval_truth(), 4000, 5);
  int held = 0;
  for (const LeftOut& one : others.left_out) {
    const IntervalTime interval = with_interval(one.predicted, *one.facts, found);
    if (one.measured >= interval.low && one.measured <= interval.high) ++held;
  }
  EXPECT_GT(held, 4000 * 0.87);
  EXPECT_LT(held, 4000 * 0.94);
}

TEST(FitErrors, GivesAnIntervalForFewAndForNoErrors) {
  for (const double ratio : {1.0, 1.2, 0.9}) {
    const TrainingFacts facts = training(1, 8);
    LeftOut one;
    one.facts = &facts;
    one.predicted = time_of(0.5, 0.2);
    one.measured = Seconds(0.5 * ratio);
    const ErrorModel found = fit_errors(std::vector{one, one, one});
    EXPECT_TRUE(std::isfinite(found.shift) && std::isfinite(found.high));
    for (const double part : {found.base, found.of_overhead, found.of_small_batch, found.of_nodes,
                              found.of_doubt, found.of_hidden}) {
      EXPECT_TRUE(std::isfinite(part) && part > 0);
    }
    EXPECT_LT(found.low, 0);
    EXPECT_GT(found.high, 0);
    const IntervalTime interval = with_interval(one.predicted, facts, found);
    EXPECT_LT(interval.low, interval.value);
    EXPECT_GT(interval.high, interval.value);
  }
  EXPECT_THROW(fit_errors({}), std::logic_error);
}

}  // namespace
}  // namespace dlscale::model::scaling
