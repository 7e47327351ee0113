#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "model/fits/piecewise.hpp"
#include "model/sgd_iter/costs/costs.hpp"
#include "model/sgd_iter/graph/iteration.hpp"
#include "model/sgd_iter/uncertain_iteration.hpp"

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
  const IterationTime time = simulate_iteration(costs.plan({}, Bound::value));
  EXPECT_NEAR(time.total.si(), 10, 1e-9);
  const auto longer = [](double t) { return std::pow(normal_distribution(t - 10), 2); };
  const IterationInterval found = UncertainIteration(costs, false, time).interval();
  EXPECT_NEAR(found.low.si(), solve(0.05, longer), 0.05);
  EXPECT_NEAR(found.high.si(), solve(0.95, longer), 0.05);
}

TEST(IterationInterval, AddsVariancesWhereMessagesFollowComputing) {
  const IterationCosts costs = message_beside_computing(Schedule::sequential);
  const IterationTime time = simulate_iteration(costs.plan({}, Bound::value));
  EXPECT_NEAR(time.total.si(), 20, 1e-9);
  const double half = deviations_of_90 * std::numbers::sqrt2;
  const IterationInterval found = UncertainIteration(costs, false, time).interval();
  EXPECT_NEAR(found.low.si(), 20 - half, 0.05);
  EXPECT_NEAR(found.high.si(), 20 + half, 0.05);
  const IterationInterval of_95 = UncertainIteration(costs, true, time).interval();
  EXPECT_NEAR((of_95.high - time.total) / (found.high - time.total), 1.645 / 1.960, 0.01);
}

// Speed-ups of n ranks, each of whom computes as one rank alone does.

IterationCosts without_messages(IterationCosts costs) {
  for (auto& message : costs.message) message.reset();
  return costs;
}

IterationTime time_of(const IterationCosts& costs) {
  return simulate_iteration(costs.plan({}, Bound::value));
}

UncertainIteration uncertain(const IterationCosts& costs) {
  return {costs, false, time_of(costs)};
}

QuantityInterval relative_speedup_of(const IterationCosts& costs) {
  return relative_speedup(uncertain(costs), uncertain(without_messages(costs)));
}

/// S = C / (C + M) of normal C and M of equal means and deviations 1 is less than r of its value
/// where (2 - r) C < r M.
TEST(SpeedupInterval, IsThatOfTheRatioWhereMessagesFollowComputing) {
  const QuantityInterval found =
      relative_speedup_of(message_beside_computing(Schedule::sequential));
  const auto distribution = [](double r) {
    return normal_distribution(20 * (r - 1) / std::hypot(2 - r, r));
  };
  EXPECT_NEAR(found.low, solve(0.05, distribution), 0.005);
  EXPECT_NEAR(found.high, solve(0.95, distribution), 0.005);
}

/// S = C / max(C, M) is less than r < 1 where C < r M.
TEST(SpeedupInterval, EndsAtTheNumberOfRanksWhereMessagesHideBehindComputing) {
  const QuantityInterval found = relative_speedup_of(message_beside_computing(Schedule::wait_free));
  const auto distribution = [](double r) {
    return normal_distribution(10 * (r - 1) / std::hypot(1, r));
  };
  EXPECT_NEAR(found.low, solve(0.05, distribution), 0.01);
  EXPECT_NEAR(found.high, 1, 1e-9);
}

TEST(SpeedupInterval, IsNothingWhereComputingAloneTakesTime) {
  const IterationCosts costs = without_messages(message_beside_computing(Schedule::sequential));
  const UncertainIteration one = uncertain(costs);
  EXPECT_LT(one.interval().low, 0.9 * one.value());
  EXPECT_NEAR(relative_speedup(one, one).low, 1, 1e-12);
  EXPECT_NEAR(relative_speedup(one, one).high, 1, 1e-12);
}

/// Errors that slow one rank and all alike cancel, which dividing the ends of both times misses.
TEST(SpeedupInterval, IsNarrowerThanTheEndsOfBothTimesDivided) {
  IterationCosts costs = message_beside_computing(Schedule::sequential);
  costs.message[0]->time = normal(1, 0.1);
  const IterationInterval all = uncertain(costs).interval();
  const IterationInterval one = uncertain(without_messages(costs)).interval();
  const double divided = 1.1 * (one.high / all.low - one.low / all.high);
  const QuantityInterval found = relative_speedup_of(costs);
  EXPECT_LT(found.high - found.low, 0.1 * divided);
  EXPECT_GT(found.high - found.low, 0.02 * divided) << "messages do not cancel";
}

/// A wait without an error is a smaller part of an iteration whose computing is slower.
TEST(SpeedupInterval, CountsWaitingForStragglersAsPredicted) {
  const IterationCosts alone = without_messages(message_beside_computing(Schedule::sequential));
  UncertainIteration all = uncertain(alone);
  all.add(Seconds(5));
  const QuantityInterval found = relative_speedup(all, uncertain(alone));
  const auto relative = [](double computing) { return computing / 10 * (15 / (computing + 5)); };
  EXPECT_NEAR(found.low, relative(10 - deviations_of_90), 1e-9);
  EXPECT_NEAR(found.high, relative(10 + deviations_of_90), 1e-9);
}

TEST(SpeedupInterval, StaysFiniteWhereComputingMayTakeNoTime) {
  IterationCosts costs = message_beside_computing(Schedule::sequential);
  costs.backward[1][0].compute = {Seconds(10), Seconds(), Seconds(100)};
  const QuantityInterval found = relative_speedup_of(costs);
  EXPECT_GE(found.low, 0);
  EXPECT_LE(found.low, 1);
  EXPECT_GE(found.high, 1);
  EXPECT_LT(found.high, 100);
}

/// Two messages beside a backward pass in three parts, an update, and skewed intervals.
IterationCosts two_messages(Schedule schedule, double message) {
  IterationCosts costs;
  costs.shape.schedule = schedule;
  const auto step = [](double value, double low, double high) {
    StepCost one;
    one.compute = {Seconds(value), Seconds(low), Seconds(high)};
    return one;
  };
  costs.forward = {step(4, 3.5, 7)};
  costs.backward = {{step(2, 1.8, 4)}, {step(3, 2.5, 6)}, {step(3, 2.5, 6)}};
  costs.update = step(0.5, 0.3, 0.8);
  for (const double share : {1.0, 0.5}) {
    MessageCost one;
    one.time = {Seconds(share * message), Seconds(0.8 * share * message),
                Seconds(1.6 * share * message)};
    one.size = Bytes(1e6);
    costs.message.emplace_back(one);
  }
  costs.message.emplace_back(std::nullopt);
  return costs;
}

/// Its iteration, where each term errs by `u` of its intervals, by hand.
double drawn_time(const IterationCosts& costs, const TermErrors& u) {
  const auto at = [&](IterationTerm term, const Estimate<Seconds>& time) {
    const double error = u.at(static_cast<std::size_t>(term));
    const Seconds end = error < 0 ? time.low : time.high;
    return std::max(0.0, (time.value + std::abs(error) * (end - time.value)).si());
  };
  double computed = at(IterationTerm::compute, costs.forward[0].compute);
  double sent = 0;
  double sending = 0;
  for (std::size_t i = 0; i < costs.backward.size(); ++i) {
    computed += at(IterationTerm::compute, costs.backward[i][0].compute);
    if (!costs.message[i]) continue;
    const double message = at(IterationTerm::communication, costs.message[i]->time);
    sent = std::max(sent, computed) + message;
    sending += message;
  }
  const bool is_sequential = costs.shape.schedule == Schedule::sequential;
  return (is_sequential ? computed + sending : std::max(computed, sent)) +
         at(IterationTerm::update, costs.update.compute);
}

/// Parameters are drawn, and the iterations of one rank and of all computed with each draw.
TEST(SpeedupInterval, IsThatOfIterationsWithDrawnParameters) {
  std::mt19937 random(3);
  std::normal_distribution<double> normal_error(0, 1 / deviations_of_90);
  for (const Schedule schedule : {Schedule::sequential, Schedule::wait_free}) {
    for (const double message : {1.0, 4.0, 12.0}) {
      const IterationCosts costs = two_messages(schedule, message);
      const IterationCosts alone = without_messages(costs);
      EXPECT_NEAR(drawn_time(costs, {}), time_of(costs).total.si(), 1e-9);
      const double predicted = time_of(alone).total / time_of(costs).total;
      std::vector<double> drawn;
      for (int i = 0; i < 20'000; ++i) {
        TermErrors u{};
        for (double& error : u) error = normal_error(random);
        drawn.push_back(drawn_time(alone, u) / drawn_time(costs, u) / predicted);
      }
      std::ranges::sort(drawn);
      const QuantityInterval found = relative_speedup_of(costs);
      const double near = 1e-9 + 0.05 * (drawn[19'000] - drawn[1'000]);
      EXPECT_NEAR(found.low, std::min(1.0, drawn[1'000]), near) << message;
      EXPECT_NEAR(found.high, std::max(1.0, drawn[19'000]), near) << message;
    }
  }
}

}  // namespace
}  // namespace dlscale::model
