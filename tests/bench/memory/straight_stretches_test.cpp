#include "bench/memory/host/straight_stretches.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

namespace dlscale::bench {
namespace {

std::vector<double> counted(std::size_t n) {
  std::vector<double> x(n);
  std::iota(x.begin(), x.end(), 0.0);
  return x;
}

std::vector<double> curve(std::size_t n, double (*y)(double)) {
  std::vector<double> values;
  for (const double x : counted(n)) values.push_back(y(x));
  return values;
}

TEST(StraightStretches, CoverAllPointsOnce) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> any(0, 1);
  for (const std::size_t n : {1U, 2U, 3U, 5U, 40U}) {
    std::vector<double> y(n);
    for (double& each : y) each = any(random);
    std::size_t next = 0;
    for (const Stretch& each : straight_stretches(counted(n), y, 0.01)) {
      EXPECT_EQ(each.first, next);
      EXPECT_GE(each.count, 1U);
      next = each.first + each.count;
      EXPECT_LE(each.end_low, next);
      EXPECT_GE(each.end_high, next);
    }
    EXPECT_EQ(next, n);
  }
}

TEST(StraightStretches, AreOneForALine) {
  const auto found =
      straight_stretches(counted(30), curve(30, [](double x) { return 3 - 0.5 * x; }), 0.01);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_NEAR(found[0].slope, -0.5, 1e-9);
  EXPECT_EQ(found[0].end_low, 30U);
  EXPECT_EQ(found[0].end_high, 30U);
}

TEST(StraightStretches, AreCutAtAStep) {
  const auto found =
      straight_stretches(counted(30), curve(30, [](double x) { return x < 12 ? 1.0 : 2.0; }), 0.01);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].count, 12U);
  EXPECT_EQ(found[0].end_low, 12U);
  EXPECT_EQ(found[0].end_high, 12U);
}

TEST(StraightStretches, AreCutAtABend) {
  const auto found = straight_stretches(
      counted(40), curve(40, [](double x) { return std::max(0.0, x - 20); }), 0.01);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_NEAR(static_cast<double>(found[0].count), 20, 1);
  EXPECT_NEAR(found[1].slope, 1, 0.01);
}

TEST(StraightStretches, DoNotFollowASinglePointThatSticksOut) {
  auto y = curve(30, [](double) { return 1.0; });
  y[10] = 5;
  EXPECT_EQ(straight_stretches(counted(30), y, 0.01).size(), 1U);
}

TEST(StraightStretches, AreFewUnderNoiseAlone) {
  int cuts = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> noise(0, 0.1);
    std::vector<double> y(60);
    for (double& each : y) each = noise(random);
    cuts += static_cast<int>(straight_stretches(counted(60), y, 0.001).size()) - 1;
  }
  EXPECT_LE(cuts, 5);
}

TEST(StraightStretches, HaveTheTrueCutWithinTheIntervalMostly) {
  int within = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> noise(0, 0.1);
    std::vector<double> y(40);
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = (i < 17 ? 0 : 0.4) + noise(random);
    const auto found = straight_stretches(counted(40), y, 0.001);
    if (found.size() < 2) continue;
    within += found[0].end_low <= 17 && found[0].end_high >= 17 ? 1 : 0;
  }
  EXPECT_GE(within, 80);
}

TEST(StraightStretches, WantEquallyManyOfBoth) {
  EXPECT_THROW(straight_stretches(counted(3), counted(2), 0.01), std::logic_error);
  EXPECT_TRUE(straight_stretches({}, {}, 0.01).empty());
}

}  // namespace
}  // namespace dlscale::bench
