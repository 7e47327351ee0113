#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <optional>
#include <utility>
#include <vector>

#include "model/fits/piecewise.hpp"
#include "model/sgd_iter/costs/costs.hpp"
#include "model/sgd_iter/graph/iteration.hpp"
#include "model/sgd_iter/predict.hpp"

namespace dlscale::model {
namespace {

using Pairs = std::vector<std::pair<std::size_t, std::size_t>>;

/// Of an input that errs by `deviation` on either side, at one of its places.
double placed(double value, double deviation, int place) {
  return value + place * deviations_of_90 * deviation;
}

double normal_distribution(double x) {
  return std::erfc(-x / std::numbers::sqrt2) / 2;
}

/// x of F(x) = p.
template <class Distribution>
double solve(double p, const Distribution& distribution) {
  double below = -100;
  double above = 100;
  while (above - below > 1e-9) {
    const double middle = (below + above) / 2;
    (distribution(middle) < p ? below : above) = middle;
  }
  return below;
}

TEST(JointInterval, OfTheMaximumOfTwoNormalsIsThatOfItsDistribution) {
  for (const double b : {7.0, 9.0, 10.0, 11.0}) {
    for (const double deviation : {0.5, 1.0, 2.0}) {
      const auto found = joint_interval(2, {{0, 1}}, deviations_of_90, [&](const InputPlaces& u) {
        return std::max(placed(10, 1, u[0]), placed(b, deviation, u[1]));
      });
      const auto distribution = [&](double t) {  // both are less
        return normal_distribution(t - 10) * normal_distribution((t - b) / deviation);
      };
      const double low = std::min(solve(0.05, distribution), std::max(10.0, b));
      const double high = solve(0.95, distribution);
      EXPECT_NEAR(found.low, low, 0.06 * (high - low)) << b << ' ' << deviation;
      EXPECT_NEAR(found.high, high, 0.06 * (high - low)) << b << ' ' << deviation;
    }
  }
}

/// Either alone shows nothing below the value, and both together do.
TEST(JointInterval, SeesWhatOnlyBothTogetherShow) {
  const auto larger = [](const InputPlaces& u) {
    return std::max(placed(10, 1, u[0]), placed(10, 1, u[1]));
  };
  const double truth =
      solve(0.05, [](double t) { return std::pow(normal_distribution(t - 10), 2); });
  EXPECT_LT(truth, 9.3);
  EXPECT_NEAR(joint_interval(2, {{0, 1}}, deviations_of_90, larger).low, truth, 0.05);
  EXPECT_GT(joint_interval(2, {}, deviations_of_90, larger).low, 9.99) << "one at a time";
}

TEST(JointInterval, OfASumAddsVariances) {
  const std::vector<double> deviations{1, 0.5, 2, 0.1};
  const auto sum = [&](const InputPlaces& u) {
    double all = 0;
    for (std::size_t i = 0; i < u.size(); ++i) all += placed(10, deviations[i], u[i]);
    return all;
  };
  const double half = deviations_of_90 * std::sqrt(1 + 0.25 + 4 + 0.01);
  for (const Pairs& pairs : {Pairs{}, Pairs{{0, 1}, {0, 2}, {3, 1}}}) {
    const auto found = joint_interval(4, pairs, deviations_of_90, sum);
    EXPECT_NEAR(found.low, 40 - half, 0.03 * half);
    EXPECT_NEAR(found.high, 40 + half, 0.03 * half);
  }
}

/// As the comment of the lattice promises, whichever two inputs move.
TEST(JointInterval, IsAsGoodForAnyTwoOfSevenInputs) {
  for (std::size_t i = 0; i < 7; ++i) {
    for (std::size_t j = i + 1; j < 7; ++j) {
      const auto sum = joint_interval(7, {}, deviations_of_90, [&](const InputPlaces& u) {
        return placed(10, 1, u[i]) + placed(10, 1, u[j]);
      });
      const double half = deviations_of_90 * std::numbers::sqrt2;
      EXPECT_NEAR(sum.low, 20 - half, 0.04) << i << ' ' << j;
      EXPECT_NEAR(sum.high, 20 + half, 0.04) << i << ' ' << j;
    }
  }
}

TEST(JointInterval, OfOneInputIsThatOfItsEndsToScale) {
  const auto squared = [](const InputPlaces& u) { return std::pow(3.0 + u[0], 2); };
  const auto as_they_are = joint_interval(1, {}, deviations_of_90, squared);
  EXPECT_DOUBLE_EQ(as_they_are.low, 4);
  EXPECT_DOUBLE_EQ(as_they_are.high, 16);
  const auto of_95 = joint_interval(1, {}, deviations_of_95, squared);
  EXPECT_DOUBLE_EQ(of_95.low, 9 - 5 * 1.645 / 1.960);
  EXPECT_DOUBLE_EQ(of_95.high, 9 + 7 * 1.645 / 1.960);
  const auto falling =
      joint_interval(1, {}, deviations_of_90, [](const InputPlaces& u) { return 3.0 - u[0]; });
  EXPECT_DOUBLE_EQ(falling.low, 2);
  EXPECT_DOUBLE_EQ(falling.high, 4);
}

TEST(JointInterval, OfNothingThatMovesIsTheValue) {
  const auto found = joint_interval(0, {}, deviations_of_90,
                                    [](const InputPlaces& u) { return u.empty() ? 5.0 : 0.0; });
  EXPECT_EQ(found.low, 5);
  EXPECT_EQ(found.high, 5);
}

/// Five inputs that can only take longer seldom all stay at their values.
TEST(JointInterval, HoldsTheValueHoweverOneSidedInputsErr) {
  const auto longer = [](const InputPlaces& u) {
    double all = 1;
    for (const int place : u) all += std::max(0, place);
    return all;
  };
  const auto found = joint_interval(7, {}, deviations_of_90, longer);
  EXPECT_EQ(found.low, 1);
  EXPECT_GT(found.high, 3);
}

TEST(JointInterval, AsksForEachPlaceOnce) {
  std::vector<InputPlaces> asked;
  const auto interval =
      joint_interval(3, {{0, 1}, {0, 2}}, deviations_of_90, [&](const InputPlaces& u) {
        asked.push_back(u);
        return 1.0;
      });
  EXPECT_EQ(asked.size(), 1U + 2 * 3 + 4 * 2);
  std::ranges::sort(asked);
  EXPECT_EQ(std::ranges::adjacent_find(asked), asked.end());
  EXPECT_EQ(interval.low, 1);
  EXPECT_EQ(interval.high, 1);
}

Estimate<Seconds> normal(double value, double deviation) {
  return {Seconds(value), Seconds(placed(value, deviation, -1)),
          Seconds(placed(value, deviation, 1))};
}

/// Backward in two parts of which the first takes no time, and its message beside the second.
IterationCosts message_beside_computing(Schedule schedule) {
  IterationCosts costs;
  costs.shape.schedule = schedule;
  StepCost computing;
  computing.compute = normal(10, 1);
  MessageCost message;
  message.time = normal(10, 1);
  message.size = Bytes(1e6);
  costs.backward = {{StepCost{}}, {computing}};
  costs.message = {message, std::nullopt};
  return costs;
}

/// An iteration takes the longer of the two, whose distribution is known.
TEST(IterationInterval, IsThatOfTheMaximumWhereMessagesHideBehindComputing) {
  const IterationCosts costs = message_beside_computing(Schedule::wait_free);
  const Seconds total = simulate_iteration(costs.plan({}, Bound::value)).total;
  EXPECT_NEAR(total.si(), 10, 1e-9);
  const auto longer = [](double t) { return std::pow(normal_distribution(t - 10), 2); };
  const IterationInterval found = interval_of(costs, false, total);
  EXPECT_NEAR(found.low.si(), solve(0.05, longer), 0.05);
  EXPECT_NEAR(found.high.si(), solve(0.95, longer), 0.05);
}

TEST(IterationInterval, AddsVariancesWhereMessagesFollowComputing) {
  const IterationCosts costs = message_beside_computing(Schedule::sequential);
  const Seconds total = simulate_iteration(costs.plan({}, Bound::value)).total;
  EXPECT_NEAR(total.si(), 20, 1e-9);
  const double half = deviations_of_90 * std::numbers::sqrt2;
  const IterationInterval found = interval_of(costs, false, total);
  EXPECT_NEAR(found.low.si(), 20 - half, 0.05);
  EXPECT_NEAR(found.high.si(), 20 + half, 0.05);
  const IterationInterval of_95 = interval_of(costs, true, total);
  EXPECT_NEAR((of_95.high - total) / (found.high - total), 1.645 / 1.960, 0.01);
}

}  // namespace
}  // namespace dlscale::model
