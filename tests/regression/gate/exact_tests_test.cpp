#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "noise_models.hpp"
#include "regression/statistics/benjamini_hochberg.hpp"
#include "regression/statistics/hodges_lehmann.hpp"
#include "regression/statistics/new_point.hpp"
#include "regression/statistics/sign_test.hpp"
#include "regression/statistics/signed_rank.hpp"
#include "regression/statistics/student_t.hpp"

namespace dlscale::regression {
namespace {

TEST(SignedRank, CountsTheSameAsAllChoicesOfSigns) {
  for (std::size_t n = 1; n <= 12; ++n) {
    std::vector<double> counts(n * (n + 1) / 2 + 2, 0);
    for (unsigned signs = 0; signs < 1U << n; ++signs) {
      std::size_t w = 0;
      for (std::size_t i = 0; i < n; ++i) w += (signs >> i & 1U) != 0 ? i + 1 : 0;
      ++counts[w];
    }
    const SignedRankDistribution distribution(n);
    double tail = 0;
    for (std::size_t w = counts.size() - 1; w-- > 0;) {
      tail += counts[w] / std::ldexp(1.0, static_cast<int>(n));
      EXPECT_NEAR(distribution.at_least(w), tail, 1e-14) << n << " " << w;
    }
    EXPECT_DOUBLE_EQ(distribution.at_least(counts.size()), 0);
  }
}

// Critical values, one-sided 5 %, 2.5 % and 1 % (Wilcoxon 1947; Hollander & Wolfe, table A.4).
TEST(SignedRank, AgreesWithPublishedCriticalValues) {
  EXPECT_EQ(SignedRankDistribution(10).critical(0.05), 10);
  EXPECT_EQ(SignedRankDistribution(10).critical(0.025), 8);
  EXPECT_EQ(SignedRankDistribution(10).critical(0.01), 5);
  EXPECT_EQ(SignedRankDistribution(20).critical(0.05), 60);
  EXPECT_EQ(SignedRankDistribution(20).critical(0.025), 52);
  EXPECT_EQ(SignedRankDistribution(20).critical(0.01), 43);
  EXPECT_EQ(SignedRankDistribution(4).critical(0.05), -1);
}

TEST(SignedRank, ItsBoundsAndItsPValueSayTheSame) {
  const std::vector<double> d{0.3, -0.1, 0.7, 0.2, 0.25, 0.4, 0.05, 0.6, 0.1, 0.35};
  const std::vector<double> averages = walsh_averages(d);
  const SignedRankDistribution ten(10);
  for (const double alpha : {0.001, 0.01, 0.02, 0.05, 0.2}) {
    const Bounds bounds = signed_rank_bounds(averages, ten, alpha);
    for (const double value : {-0.5, 0.0, 0.1, 0.1375, 0.2, 0.3, 0.45, 0.9}) {
      const bool above = bounds.low && *bounds.low > value;
      EXPECT_EQ(above, signed_rank_p_above(averages, ten, value) <= alpha) << alpha << " " << value;
      const bool below = bounds.high && *bounds.high < value;
      EXPECT_EQ(below, signed_rank_p_below(averages, ten, value) <= alpha) << alpha << " " << value;
    }
  }
}

TEST(SignedRank, GivesNoBoundFromTooFewValues) {
  const std::vector<double> averages = walsh_averages(std::vector<double>{1, 2, 3, 4});
  const Bounds bounds = signed_rank_bounds(averages, SignedRankDistribution(4), 0.05);
  EXPECT_FALSE(bounds.low);
  EXPECT_FALSE(bounds.high);
}

TEST(SignedRank, TakesEqualValuesAndValuesOfExactlyTheLimitAsNotBeyondIt) {
  const std::vector<double> averages = walsh_averages(std::vector<double>(10, 0.01));
  const SignedRankDistribution ten(10);
  EXPECT_DOUBLE_EQ(signed_rank_p_above(averages, ten, 0.01), 1);
  EXPECT_DOUBLE_EQ(signed_rank_p_below(averages, ten, 0.01), 1);
  EXPECT_DOUBLE_EQ(signed_rank_p_above(averages, ten, 0.0), 1.0 / 1024);
}

TEST(SignTest, IsABinomialDistribution) {
  EXPECT_DOUBLE_EQ(coin_at_least(10, 10), 1.0 / 1024);
  EXPECT_DOUBLE_EQ(coin_at_least(10, 9), 11.0 / 1024);
  EXPECT_DOUBLE_EQ(coin_at_least(10, 8), 56.0 / 1024);
  EXPECT_DOUBLE_EQ(coin_at_least(10, 0), 1);
  // Conover, table A3: of 20, P(S ≤ 5) = .0207 and P(S ≤ 6) = .0577.
  EXPECT_NEAR(coin_at_least(20, 15), 0.0207, 5e-5);
  EXPECT_NEAR(coin_at_least(20, 14), 0.0577, 5e-5);
}

TEST(SignTest, ItsBoundsAreOrderStatisticsThatAgreeWithItsPValue) {
  std::vector<double> d;
  for (int i = 1; i <= 20; ++i) d.push_back(i);
  const Bounds bounds = sign_test_bounds(d, 0.05);
  EXPECT_EQ(bounds.low, 6);  // P(S ≤ 5) = .0207: the 6th
  EXPECT_EQ(bounds.high, 15);
  for (const double value : {0.0, 5.0, 5.5, 6.0, 14.9, 15.0, 15.5, 30.0}) {
    EXPECT_EQ(*bounds.low > value, sign_test_p_above(d, value) <= 0.05) << value;
    EXPECT_EQ(*bounds.high < value, sign_test_p_below(d, value) <= 0.05) << value;
  }
  EXPECT_FALSE(sign_test_bounds(std::vector<double>{1, 2, 3, 4}, 0.05).low);
}

TEST(HodgesLehmann, IsTheMedianOfAverages) {
  // 1, 2, 3, 10: averages 1 1.5 2 2 2.5 3 5.5 6 6.5 10.
  EXPECT_DOUBLE_EQ(hodges_lehmann(walsh_averages(std::vector<double>{10, 1, 3, 2})), 2.75);
  EXPECT_DOUBLE_EQ(hodges_lehmann(walsh_averages(std::vector<double>{7})), 7);
  EXPECT_DOUBLE_EQ(
      hodges_lehmann_shift(std::vector<double>{1, 2, 3}, std::vector<double>{4, 6, 100}), 4);
}

// The example of Benjamini & Hochberg 1995, table 1: at q = .05 four of 15 are discoveries.
TEST(BenjaminiHochberg, RepeatsTheExampleOfItsAuthors) {
  const std::vector<double> p{0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344,
                              0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000};
  const std::vector<double> adjusted = benjamini_hochberg(p);
  EXPECT_EQ(std::ranges::count_if(adjusted, [](double value) { return value <= 0.05; }), 4);
  EXPECT_NEAR(adjusted[3], 0.0095 * 15 / 4, 1e-12);
  EXPECT_NEAR(adjusted[0], 0.0015, 1e-12);
  EXPECT_DOUBLE_EQ(adjusted[14], 1);
}

TEST(BenjaminiHochberg, KeepsTheOrderThatItWasGiven) {
  const std::vector<double> adjusted =
      benjamini_hochberg(std::vector<double>{0.5, 0.01, 0.5, 0.02});
  EXPECT_DOUBLE_EQ(adjusted[1], 0.04);
  EXPECT_DOUBLE_EQ(adjusted[3], 0.04);
  EXPECT_DOUBLE_EQ(adjusted[0], 0.5);
  EXPECT_TRUE(benjamini_hochberg({}).empty());
}

// Abramowitz & Stegun, table 26.10; the last by integration.
TEST(StudentT, HasTheQuantilesOfTheTables) {
  EXPECT_NEAR(student_t_quantile(0.995, 9), 3.250, 5e-4);
  EXPECT_NEAR(student_t_quantile(0.995, 30), 2.750, 5e-4);
  EXPECT_NEAR(student_t_quantile(0.975, 1), 12.706, 5e-4);
  EXPECT_NEAR(student_t_quantile(0.95, 120), 1.658, 5e-4);
  EXPECT_NEAR(student_t_quantile(0.75, 1), 1.0, 1e-10);  // Cauchy's
  EXPECT_NEAR(student_t_quantile(0.005, 9), -3.250, 5e-4);
  for (const double freedom : {1.0, 5.0, 63.0, 1000.0}) {
    EXPECT_NEAR(student_t_probability(student_t_quantile(0.9, freedom), freedom), 0.9, 1e-11);
  }
  // Two degrees have a closed form: P = 1/2 + t / (2 sqrt(2 + t²)).
  EXPECT_NEAR(student_t_probability(1.7, 2), 0.5 + 1.7 / (2 * std::sqrt(2 + 1.7 * 1.7)), 1e-13);
}

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

/// The bounds of 64 points hardly vary: a commit changed by `seen` is beyond in 8 of 10 cases.
TEST(NewPoint, SeesItsSmallestChangeInEightOfTenCases) {
  Draws draws(3);
  constexpr std::size_t n = 600;
  std::size_t beyond = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::vector<double> all = draw_history(Noise::gaussian_266, 65, 65, 0, draws);
    const std::span history = std::span(all).first(64);
    const double seen = judge_new_point(history, std::vector<double>{100}, times).seen;
    const double changed = all.back() * std::exp(seen);
    beyond += judge_new_point(history, std::vector<double>{changed}, times).beyond;
  }
  EXPECT_GE(beyond, least_of(n, 0.75));
  EXPECT_LE(beyond, most_of(n, 0.85));
  const std::vector<double> young(9, 1.0);
  EXPECT_FALSE(judge_new_point(young, std::vector<double>{1}, times).has_bounds());
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
}  // namespace dlscale::regression
