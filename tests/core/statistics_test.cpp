#include "core/base/statistics.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <stdexcept>
#include <vector>

namespace dlscale {
namespace {

/// 1, 2, …, n in an order that is not sorted: sample r is its own rank.
std::vector<double> ranks(std::size_t n) {
  std::vector<double> samples(n);
  std::iota(samples.begin(), samples.end(), 1.0);
  std::shuffle(samples.begin(), samples.end(), std::mt19937(7));
  return samples;
}

/// P(lower <= X < upper) for X ~ Binomial(n, 1/2), by Pascal's triangle.
double binomial_mass(int n, int lower, int upper) {
  std::vector<double> row{1};
  for (int i = 0; i < n; ++i) {
    std::vector<double> next(row.size() + 1, 0);
    for (std::size_t k = 0; k < row.size(); ++k) {
      next[k] += row[k] / 2;
      next[k + 1] += row[k] / 2;
    }
    row = next;
  }
  return std::accumulate(row.begin() + lower, row.begin() + upper, 0.0);
}

TEST(Statistics, MedianOfAnEvenNumberIsTheMiddleOfTheMiddleTwo) {
  EXPECT_DOUBLE_EQ(median(std::vector<double>{4, 1, 3, 2}), 2.5);
  EXPECT_DOUBLE_EQ(median(std::vector<double>{9, 1, 3}), 3);
  EXPECT_DOUBLE_EQ(median(std::vector<double>{5}), 5);
}

TEST(Statistics, MadIsTheMedianDistanceFromTheMedian) {
  const Summary summary = summarize(std::vector<double>{1, 1, 2, 2, 4, 6, 9});
  EXPECT_DOUBLE_EQ(summary.median, 2);
  EXPECT_DOUBLE_EQ(summary.mad, 1);  // distances 1 1 0 0 2 4 7
}

TEST(Statistics, IntervalRanksAreThoseOfTheTables) {
  const Summary ten = summarize(ranks(10));  // 2 and 9: 97.9 %
  EXPECT_EQ(ten.ci95_low, 2);
  EXPECT_EQ(ten.ci95_high, 9);
  const Summary twenty = summarize(ranks(20));  // 6 and 15: 95.9 %
  EXPECT_EQ(twenty.ci95_low, 6);
  EXPECT_EQ(twenty.ci95_high, 15);
}

TEST(Statistics, IntervalIsTheNarrowestThatCovers95Percent) {
  for (int n = 6; n <= 120; ++n) {
    const Summary summary = summarize(ranks(static_cast<std::size_t>(n)));
    const int low = static_cast<int>(summary.ci95_low);
    const int high = static_cast<int>(summary.ci95_high);
    EXPECT_EQ(low + high, n + 1) << n;
    EXPECT_GE(binomial_mass(n, low, high), 0.95) << n;
    EXPECT_LT(binomial_mass(n, low + 1, high - 1), 0.95) << n;
  }
}

TEST(Statistics, IntervalOfFewSamplesIsTheirRange) {
  for (std::size_t n = 1; n < 6; ++n) {
    const Summary summary = summarize(ranks(n));
    EXPECT_EQ(summary.ci95_low, 1);
    EXPECT_EQ(summary.ci95_high, static_cast<double>(n));
  }
}

TEST(Statistics, IntervalOfManySamplesApproachesTheNormalOne) {
  const std::size_t n = 200'000;  // 2^-n is far below the least double
  const Summary summary = summarize(ranks(n));
  const double expected = static_cast<double>(n) / 2 - 1.959964 * std::sqrt(n) / 2;
  EXPECT_NEAR(summary.ci95_low, expected, 2);
}

TEST(Statistics, IntervalCoversTheTrueMedianInAtLeast95PercentOfTrials) {
  std::mt19937 random(3);
  std::exponential_distribution<double> skewed(1);
  int covered = 0;
  constexpr int trials = 4000;
  for (int trial = 0; trial < trials; ++trial) {
    std::vector<double> samples(15);
    std::generate(samples.begin(), samples.end(), [&] { return skewed(random); });
    const Summary summary = summarize(samples);
    covered += summary.ci95_low <= std::log(2) && std::log(2) <= summary.ci95_high ? 1 : 0;
  }
  EXPECT_GT(covered, trials * 0.95);  // exact: 96.5 %
  EXPECT_LT(covered, trials * 0.98);
}

TEST(Statistics, SummaryFollowsShiftAndScale) {
  std::mt19937 random(5);
  std::normal_distribution<double> normal;
  std::vector<double> samples(33);
  std::generate(samples.begin(), samples.end(), [&] { return normal(random); });
  std::vector<double> moved = samples;
  for (double& x : moved) x = 4 * x + 16;
  const Summary a = summarize(samples);
  const Summary b = summarize(moved);
  EXPECT_NEAR(b.median, 4 * a.median + 16, 1e-12);
  EXPECT_NEAR(b.mad, 4 * a.mad, 1e-12);
  EXPECT_NEAR(b.ci95_low, 4 * a.ci95_low + 16, 1e-12);
  EXPECT_EQ(a.n, 33U);
}

TEST(Statistics, QuantileInterpolatesBetweenOrderStatistics) {
  const std::vector<double> samples{40, 10, 30, 20};  // R: quantile(c(10,20,30,40), type = 7)
  EXPECT_DOUBLE_EQ(quantile(samples, 0), 10);
  EXPECT_DOUBLE_EQ(quantile(samples, 0.25), 17.5);
  EXPECT_DOUBLE_EQ(quantile(samples, 0.9), 37);
  EXPECT_DOUBLE_EQ(quantile(samples, 1), 40);
}

TEST(Statistics, RelativeHalfWidthIsOfTheMedian) {
  EXPECT_DOUBLE_EQ(relative_half_width({.median = 10, .ci95_low = 9, .ci95_high = 12}), 0.15);
  EXPECT_DOUBLE_EQ(relative_half_width({.median = 0, .ci95_low = 0, .ci95_high = 0}), 0);
  EXPECT_TRUE(std::isinf(relative_half_width({.median = 0, .ci95_low = -1, .ci95_high = 1})));
}

TEST(Statistics, NoSampleOrOneThatIsNotFiniteIsACallersMistake) {
  EXPECT_THROW((void)summarize(std::vector<double>{}), std::logic_error);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW((void)summarize(std::vector<double>{1, nan}), std::logic_error);
  EXPECT_THROW((void)quantile(std::vector<double>{1}, 1.5), std::logic_error);
}

}  // namespace
}  // namespace dlscale
