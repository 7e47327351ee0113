#include "regression/statistics/new_point.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "noise_models.hpp"

namespace dlscale::report {
namespace {

constexpr Direction times = Direction::smaller_is_better;
constexpr Direction rates = Direction::larger_is_better;

std::optional<Verdict> judged(const std::vector<double>& history, std::vector<double> runs,
                              Direction direction = times) {
  return judge_new_point(history, runs, direction).verdict;
}

TEST(NewPoint, NeedsTenPointsOfHistory) {
  EXPECT_EQ(judged(std::vector<double>(9, 1.0), {2.0}), std::nullopt);
  EXPECT_EQ(judged(std::vector<double>(10, 1.0), {2.0}), Verdict::inconclusive);
  EXPECT_EQ(judged({}, {2.0}), std::nullopt);
}

TEST(NewPoint, WithoutAnySpreadTheMarginIsTheBound) {
  const std::vector<double> history(20, 100.0);
  const NewPoint point = judge_new_point(history, std::vector<double>{101.9}, times);
  EXPECT_EQ(point.verdict, Verdict::unchanged);
  EXPECT_NEAR(point.highest, 102, 1e-9);
  EXPECT_NEAR(point.lowest, 100 / 1.02, 1e-9);
  EXPECT_EQ(judged(history, {102.1}), Verdict::inconclusive);
}

TEST(NewPoint, WantsTwoMoreRunsOfAHitAndThenTwoOfThree) {
  const std::vector<double> history(20, 100.0);
  EXPECT_EQ(judge_new_point(history, std::vector<double>{110}, times).runs_wanted, 2U);
  EXPECT_EQ(judged(history, {110, 100}), Verdict::inconclusive);
  EXPECT_EQ(judge_new_point(history, std::vector<double>{110, 100}, times).runs_wanted, 1U);
  EXPECT_EQ(judged(history, {110, 100, 100}), Verdict::unchanged);
  EXPECT_EQ(judged(history, {110, 100, 110}), Verdict::regressed);
  EXPECT_EQ(judged(history, {110, 111}), Verdict::regressed);
  EXPECT_EQ(judged(history, {110, 110, 100, 100, 100}), Verdict::unchanged);
}

TEST(NewPoint, TurnsWithTheDirection) {
  const std::vector<double> history(20, 100.0);
  EXPECT_EQ(judged(history, {110, 110, 110}, times), Verdict::regressed);
  EXPECT_EQ(judged(history, {110, 110, 110}, rates), Verdict::improved);
  EXPECT_EQ(judged(history, {90, 90, 90}, times), Verdict::improved);
  EXPECT_EQ(judged(history, {90, 90, 90}, rates), Verdict::regressed);
}

TEST(NewPoint, LeavesOutWhatIsNoTime) {
  std::vector<double> history(20, 100.0);
  history[2] = std::numeric_limits<double>::quiet_NaN();
  const NewPoint point =
      judge_new_point(history, std::vector<double>{std::numeric_limits<double>::infinity()}, times);
  EXPECT_EQ(point.unusable, 2U);
  EXPECT_EQ(point.verdict, Verdict::inconclusive);
  EXPECT_EQ(point.runs_wanted, 3U);
}

/// The bound of the formula, worked by hand: 9 points at ln = −.04 … +.04 around 100 and one more.
TEST(NewPoint, HasTheBoundOfItsFormula) {
  std::vector<double> history;
  for (int i = -5; i <= 5; ++i) history.push_back(100 * std::exp(0.01 * i));
  const double mad = 0.03;
  const double bound = 3.169273 * 1.4826 * mad * (1 + 0.8 / 11) * std::sqrt(1 + 1.0 / 11);
  const NewPoint point = judge_new_point(history, std::vector<double>{100}, times);
  EXPECT_NEAR(std::log(point.highest / 100), bound, 1e-6);  // t(.995, 10) = 3.169273
}

// Alarms a metric and commit, with reruns; figures of the rule: .000 and .006 of 4,000.
TEST(NewPoint, AlarmsRarelyWithoutAChangeAndMostlyWithOne) {
  Draws draws(1);
  constexpr std::size_t n = 300;
  const auto alarms = [&draws](Noise noise, double step) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const std::vector<double> all = draw_history(noise, 67, 64, step, draws);
      const std::span history = std::span(all).first(64);
      NewPoint point = judge_new_point(history, std::span(all).subspan(64, 1), times);
      if (point.verdict == Verdict::inconclusive) {
        point = judge_new_point(history, std::span(all).subspan(64, 3), times);
      }
      count += point.verdict == Verdict::regressed ? 1 : 0;
    }
    return count;
  };
  EXPECT_LE(alarms(Noise::gaussian_1, 0), most_of(n, 0.001));
  EXPECT_LE(alarms(Noise::gaussian_266, 0), most_of(n, 0.001));
  EXPECT_LE(alarms(Noise::outliers, 0), most_of(n, 0.006));
  EXPECT_GE(alarms(Noise::gaussian_1, 0.05), least_of(n, 0.974));
  EXPECT_GE(alarms(Noise::gaussian_266, 0.10), least_of(n, 0.754));
  EXPECT_GE(alarms(Noise::outliers, 0.10), least_of(n, 0.999));
}

}  // namespace
}  // namespace dlscale::report
