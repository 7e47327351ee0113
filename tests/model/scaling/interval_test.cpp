#include "model/published/scaling/fit/interval.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <random>
#include <stdexcept>
#include <utility>
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
  time.slower = time.total;
  time.overhead = overhead;
  return time;
}

void set(ErrorParts& parts, ErrorPart part, double value) {
  parts[static_cast<std::size_t>(part)] = value;
}

double get(const ErrorParts& parts, ErrorPart part) {
  return parts[static_cast<std::size_t>(part)];
}

/// Late errors are twice as large as early ones.
ErrorModel some_errors() {
  ErrorModel errors;
  errors.shift = 0.02;
  errors.early = {0.01, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.1};
  for (std::size_t i = 0; i < errors.late.size(); ++i) errors.late[i] = 2 * errors.early[i];
  errors.low = -1;
  errors.high = 1;
  return errors;
}

/// On one node, in f32 and with samples that are made up.
TrainingFacts plain(int nodes) {
  TrainingFacts facts = training(nodes, 8);
  facts.synthetic_input = true;
  return facts;
}

/// High over value, and value over low, in logarithms.
std::pair<double, double> widths(const ScaledTime& time, const TrainingFacts& facts) {
  const IntervalTime interval = with_interval(time, facts, some_errors());
  return {std::log(interval.value / interval.low), std::log(interval.high / interval.value)};
}

TEST(Interval, FollowsItsEquation) {
  TrainingFacts facts = plain(1);
  const auto expect = [&](const ScaledTime& time, double scale) {
    const auto [early, late] = widths(time, facts);
    EXPECT_NEAR(early, scale, 1e-12);
    EXPECT_NEAR(late, 2 * scale, 1e-12);
  };
  const ScaledTime half = time_of(2, 0.5);
  EXPECT_DOUBLE_EQ(with_interval(half, facts, some_errors()).value.si(), 2 * std::exp(0.01));
  expect(half, 0.06);
  ScaledTime unsure = half;  // 1 s of communication, all exposed
  unsure.communication = Seconds(1.5);
  unsure.in_doubt = Seconds(0.2);
  expect(unsure, 0.06 + 0.04 + 0.125);
  ScaledTime slower = half;
  slower.slower = Seconds(3);
  expect(slower, 0.06 + 0.6 * std::log(1.5));
  facts.batch = 16;
  expect(half, 0.26);
  facts = plain(2);
  expect(half, 0.36);
  facts = plain(1);
  facts.half_precision = true;
  expect(half, 0.76);
  facts = plain(1);
  facts.synthetic_input = false;
  expect(half, 0.86);
  facts = plain(1);
  facts.uneven_samples = true;
  expect(half, 0.96);
  facts = plain(1);
  ScaledTime waits = half;
  waits.waiting = Seconds(0.1);
  waits.copies = Seconds(0.3);
  expect(waits, 0.06 + 1.1 * 0.2);
}

TEST(Interval, EndsLateWhereANodeMayDecodeTooSlowly) {
  TrainingFacts facts = training(1, 8);     // of 64 pictures in 0.2 s on one GPU
  EXPECT_EQ(slow_input(facts), Seconds());  // nothing says that samples are pictures
  facts.sample = Bytes(600e3);
  EXPECT_DOUBLE_EQ(slow_input(facts).si(), 64 * 8 / slow_decoding);
  ErrorModel small;
  small.early.fill(1e-3);
  small.late.fill(1e-3);
  small.low = -1;
  small.high = 1;
  const IntervalTime interval = with_interval(time_of(0.201, 0.005), facts, small);
  EXPECT_EQ(interval.high, slow_input(facts));
  EXPECT_DOUBLE_EQ(interval.value.si(), 0.201);
  facts.given_iteration = Seconds(0.01);  // one GPU was fed with 6,400 pictures a second
  EXPECT_DOUBLE_EQ(slow_input(facts).si(), 0.08);
  facts.given.gpus_on_node = 8;  // and so were eight
  EXPECT_EQ(slow_input(facts), Seconds());
  facts.given.gpus_on_node = 1;
  facts.synthetic_input = true;
  EXPECT_EQ(slow_input(facts), Seconds());
}

TEST(Interval, IsOfTimesThatWereJudged) {
  ScaledTime time = time_of(0.2, 0.1);
  time.slower = Seconds();
  EXPECT_THROW((void)with_interval(time, training(1, 8), some_errors()), std::logic_error);
}

TEST(Interval, OfTheGivenPointIsItsNoise) {
  ScaledTime time = time_of(2, 0.5);
  time.differs = 0;
  const IntervalTime given = with_interval(time, training(1, 8), some_errors());
  EXPECT_DOUBLE_EQ(given.value.si(), 2);
  EXPECT_DOUBLE_EQ(given.low.si(), 2 * std::exp(-0.005));
  EXPECT_DOUBLE_EQ(given.high.si(), 2 * std::exp(0.005));
  time.differs = 0.5;
  const IntervalTime near = with_interval(time, plain(1), some_errors());
  EXPECT_DOUBLE_EQ(near.value.si(), 2 * std::exp(0.005));
  EXPECT_DOUBLE_EQ(near.high.si(), 2 * std::exp(0.005 + 2 * 0.03 + 0.0025));
}

TEST(Interval, IsWiderWhereTheOverlapIsNotTold) {
  // Such a training itself, between two that tell.
  const TrainingFacts unknown = on_ethernet(4, 4, cases::Overlap::unknown);
  TrainingFacts told = unknown;
  told.overlap = cases::Overlap::bucketed;
  const auto width = [](const TrainingFacts& facts) {
    ErrorModel errors = some_errors();
    for (ErrorParts* parts : {&errors.early, &errors.late}) {
      for (const ErrorPart part : {ErrorPart::hidden, ErrorPart::overhead, ErrorPart::messages}) {
        set(*parts, part, 0);
      }
    }
    const ScaledTime time = ScalingModel(facts).judged(Parameters::prior());
    const IntervalTime interval = with_interval(time, facts, errors);
    return interval.high / interval.low;
  };
  EXPECT_GT(width(unknown), width(told));
}

/// Trainings of all kinds with errors of Laplace's distribution, as of many sets.
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
    all.facts.push_back(plain(i % 2 == 0 ? 1 : 4));
    if (i % 5 == 0) all.facts.back().batch = 8;
    all.facts.back().half_precision = i % 7 == 0;
  }
  for (int i = 0; i < count; ++i) {
    const TrainingFacts& facts = all.facts[static_cast<std::size_t>(i)];
    LeftOut one;
    one.facts = &facts;
    one.predicted = time_of(0.5, 0.8 * uniform(random));
    one.predicted.in_doubt = Seconds(i % 3 == 0 ? 0.15 * uniform(random) : 0);
    one.predicted.communication =
        one.predicted.transfer + Seconds(i % 4 == 0 ? 0.5 * uniform(random) : 0);
    one.weight = i % 3 == 0 ? 2 : 1;
    // The ends of the interval of one scale each way.
    ErrorModel one_scale = truth;
    one_scale.low = -1;
    one_scale.high = 1;
    const IntervalTime ends = with_interval(one.predicted, facts, one_scale);
    const double early = std::log(ends.value / ends.low);
    const double late = std::log(ends.high / ends.value);
    const double scale = uniform(random) * (early + late) < early ? -early : late;
    one.measured = std::exp(exponential(random) * scale) * ends.value;
    all.left_out.push_back(one);
  }
  return all;
}

ErrorModel interval_truth() {
  ErrorModel errors;
  errors.shift = 0.03;
  errors.early = {0.02, 0.1, 0.05, 0.03, 0.2, 0.06, 1e-9, 0.03, 1e-9, 1e-9, 1e-9};
  errors.late = errors.early;
  return errors;
}

TEST(FitErrors, FindsWhatErrorsWereDrawnFrom) {
  const ErrorModel truth = interval_truth();
  const ErrorModel found = fit_errors(drawn(truth, 20000, 3).left_out);
  EXPECT_NEAR(found.shift, 0.03, 0.006);
  for (const ErrorPart part :
       {ErrorPart::base, ErrorPart::overhead, ErrorPart::small_batch, ErrorPart::nodes}) {
    SCOPED_TRACE(error_parts()[static_cast<std::size_t>(part)]);
    EXPECT_NEAR(get(found.early, part), get(truth.early, part),
                0.006 + 0.2 * get(truth.early, part));
    EXPECT_NEAR(get(found.late, part), get(truth.late, part), 0.006 + 0.2 * get(truth.late, part));
  }
  const double laplace = std::log(0.1);  // 5 % of Laplace's distribution are below ln(2 · 0.05)
  EXPECT_NEAR(found.high - found.low, -2 * laplace, 0.5);
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
  EXPECT_GT(get(found.late, ErrorPart::base), get(found.early, ErrorPart::base));
  // The shortest that holds 90 % of an exponential distribution begins at its start.
  const IntervalTime interval = with_interval(time_of(0.5, 0), facts, found);
  EXPECT_NEAR(std::log(interval.low.si() / 0.5), 0, 0.004);
  EXPECT_NEAR(std::log(interval.high.si() / 0.5), 0.05 * std::log(10), 0.01);
}

TEST(FitErrors, AreNarrowerWithinTheDomainIfThoseOutsideCountByTheirStretch) {
  Drawn all = drawn(interval_truth(), 400, 9);
  const ErrorModel alike = fit_errors(all.left_out);
  for (LeftOut& one : all.left_out) one.stretch = outside_stretch;
  const ErrorModel outside = fit_errors(all.left_out);
  const ScaledTime time = time_of(0.5, 0.4);
  const auto width = [&](const ErrorModel& errors) {
    const IntervalTime interval = with_interval(time, all.facts.front(), errors);
    return std::log(interval.high / interval.low);
  };
  EXPECT_NEAR(width(alike) / width(outside), outside_stretch, 0.05);
}

TEST(FitErrors, InputThatIsTooSlowIsNoPartOfTheScale) {
  Drawn all = drawn(interval_truth(), 400, 9);
  const ErrorModel before = fit_errors(all.left_out);
  TrainingFacts pictures = training(1, 8);
  pictures.sample = Bytes(600e3);
  LeftOut late;
  late.facts = &pictures;
  late.predicted = time_of(0.2, 0.1);
  late.measured = slow_input(pictures);
  for (int i = 0; i < 20; ++i) all.left_out.push_back(late);
  const ErrorModel after = fit_errors(all.left_out);
  for (std::size_t i = 0; i < before.late.size(); ++i) {
    EXPECT_NEAR(after.late[i], before.late[i], 0.1 * before.late[i] + 0.002) << error_parts()[i];
  }
}

TEST(FitErrors, PointsThatAreTheGivenOnesSayNothing) {
  const Drawn others = drawn(interval_truth(), 300, 7);
  std::vector<LeftOut> all = others.left_out;
  const ErrorModel without = fit_errors(all);
  LeftOut given = all.front();
  given.predicted.differs = 0;
  given.measured = given.predicted.total;
  EXPECT_TRUE(std::isfinite(fit_errors(std::vector{given, given}).late.front()));
  all.push_back(given);
  EXPECT_NEAR(fit_errors(all).shift, without.shift, 1e-5);
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

TEST(FitErrors, AFewSetsAreLessSureThanMany) {
  const Drawn all = drawn(interval_truth(), 400, 8);
  std::vector<LeftOut> many = all.left_out;
  const ErrorModel of_many = fit_errors(many);
  for (LeftOut& one : many) one.weight /= 100;  // the weights of some five sets
  const ErrorModel of_few = fit_errors(many);
  EXPECT_GT(of_few.high - of_few.low, 1.1 * (of_many.high - of_many.low));
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
    for (const ErrorParts* parts : {&found.early, &found.late}) {
      for (const double part : *parts) EXPECT_TRUE(std::isfinite(part) && part > 0);
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
