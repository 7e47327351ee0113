#include "model/sgd_iter/cluster/stragglers.hpp"
#include "tests/model/independent_forms.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <random>
#include <stdexcept>

namespace dlscale::model {
namespace {

constexpr double stragglers_infinity = std::numeric_limits<double>::infinity();
constexpr std::int64_t numbers[] = {1, 2, 3, 7, 8, 64, 1000, 1'000'000};

/// [H. A. David & H. N. Nagaraja, Order Statistics (2003), 3.2; of 4 and 5 by the arc sine]
TEST(NormalMaximum, IsThatOfItsClosedForms) {
  const double root = std::sqrt(std::numbers::pi);
  const double angle = std::asin(1.0 / 3) / std::numbers::pi;
  EXPECT_NEAR(expected_normal_maximum(1), 0, 1e-12);
  EXPECT_NEAR(expected_normal_maximum(2), 1 / root, 1e-12);
  EXPECT_NEAR(expected_normal_maximum(3), 1.5 / root, 1e-12);
  EXPECT_NEAR(expected_normal_maximum(4), 3 / root * (0.5 + angle), 1e-12);
  EXPECT_NEAR(expected_normal_maximum(5), 5 / root * (0.25 + 1.5 * angle), 1e-12);
}

/// ∫_0^∞ 1 - Φ(x)^N dx - ∫_-∞^0 Φ(x)^N dx by Simpson's rule.
double maximum_by_tails(std::int64_t n) {
  const auto power = [n](double x) {
    const double tail = 0.5 * std::erfc(std::abs(x) / std::numbers::sqrt2);
    return static_cast<double>(n) * (x < 0 ? std::log(tail) : std::log1p(-tail));
  };
  const int halves = 4000;  // of 12
  const double step = 12.0 / halves;
  double sum = 0;
  for (int i = 0; i <= halves; ++i) {
    const double inner = i % 2 == 0 ? 2 : 4;
    const double weight = i == 0 || i == halves ? 1 : inner;
    const double x = i * step;
    sum += weight * (-std::expm1(power(x)) - std::exp(power(-x)));
  }
  return sum * step / 3;
}

TEST(NormalMaximum, IsTheSameByAnotherIntegralForAMillion) {
  for (const std::int64_t n : numbers) {
    EXPECT_NEAR(expected_normal_maximum(n), maximum_by_tails(n), 1e-10) << n;
  }
}

TEST(NormalMaximum, GrowsAndStaysBelowItsBound) {
  double last = -1;
  for (const std::int64_t n : numbers) {
    const double maximum = expected_normal_maximum(n);
    EXPECT_GT(maximum, last) << n;
    EXPECT_LE(maximum, std::sqrt(2 * std::log(static_cast<double>(n))) + 1e-12) << n;
    last = maximum;
  }
}

TEST(LogNormalMaximum, IsThatOfItsClosedForms) {
  for (const double s : {0.0, 0.01, 0.5, 3.0}) {
    EXPECT_NEAR(expected_log_normal_maximum(1, s), 1, 1e-12) << s;
    // 2 Φ(s / √2)
    EXPECT_NEAR(expected_log_normal_maximum(2, s), std::erfc(-s / 2), 1e-12) << s;
  }
  EXPECT_NEAR(expected_log_normal_maximum(1000, 0), 1, 1e-10);
  EXPECT_NEAR(expected_log_normal_maximum(1000, 12), 1000, 1e-6);  // one has nearly all
}

TEST(LogNormalMaximum, OfLittleSpreadIsThatOfNormalTimes) {
  for (const std::int64_t n : numbers) {
    const double s = 1e-4;
    EXPECT_NEAR((expected_log_normal_maximum(n, s) - 1) / s, expected_normal_maximum(n), 2e-3) << n;
  }
}

const RankSpread third{1.0 / 3};

TEST(Slowest, IsTheMeanOfOneWorkerAndOfTimesWithoutSpread) {
  EXPECT_NEAR(expected_slowest(Seconds(0.3), third, 1).si(), 0.3, 1e-12);
  EXPECT_NEAR(expected_slowest(Seconds(0.3), {0}, 5000).si(), 0.3, 1e-10);
}

TEST(Slowest, GrowsWithWorkersAndStaysBelowTheBoundOfAnyTimes) {
  Seconds last;
  for (const std::int64_t n : numbers) {
    const Seconds slowest = expected_slowest(Seconds(0.3), third, n);
    EXPECT_GT(slowest, last) << n;
    EXPECT_LE(slowest.si(), slowest_at_most(Seconds(0.3), Seconds(0.1), n).si() + 1e-12) << n;
    last = slowest;
  }
  EXPECT_NEAR(slowest_at_most(Seconds(1), Seconds(1), 2).si(), 1 + 1 / std::sqrt(3.0), 1e-12);
}

/// The mean over 20,000 steps of the slowest of 16. Its standard error is below 1 % of the
/// deviation of a worker, for the slowest deviates at most 1.3 times as much.
TEST(Slowest, IsTheMeanOfManyDraws) {
  const double s = std::sqrt(std::log1p(1.0 / 9));
  std::lognormal_distribution<double> draw(std::log(0.3) - s * s / 2, s);
  std::mt19937 random(9);
  double sum = 0;
  const int steps = 20000;
  for (int step = 0; step < steps; ++step) {
    double slowest = 0;
    for (int i = 0; i < 16; ++i) slowest = std::max(slowest, draw(random));
    sum += slowest;
  }
  const double tolerance = 0.004;  // of a deviation of 0.1: four standard errors and more
  EXPECT_NEAR(expected_slowest(Seconds(0.3), third, 16).si(), sum / steps, tolerance);
}

TEST(DeviationFromScaling, IsWhatSpreadLosesThatMuch) {
  const Seconds comm(0.03);
  const Seconds iteration = Seconds(0.2 + 0.012 * expected_normal_maximum(64)) + comm;
  const auto found = deviation_from_scaling(iteration, Seconds(0.2), comm, 64);
  ASSERT_TRUE(found.has_value());
  EXPECT_NEAR(found->si(), 0.012, 1e-12);
  EXPECT_FALSE(deviation_from_scaling(Seconds(0.1), Seconds(0.2), comm, 64).has_value());
}

TEST(Slowest, OfNobodyOrOfImpossibleTimesIsACallersMistake) {
  EXPECT_THROW((void)expected_slowest(Seconds(1), third, 0), std::logic_error);
  EXPECT_THROW((void)expected_slowest(Seconds(), third, 2), std::logic_error);
  EXPECT_THROW((void)expected_slowest(Seconds(stragglers_infinity), third, 2), std::logic_error);
  EXPECT_THROW((void)expected_slowest(Seconds(1), {-0.1}, 2), std::logic_error);
  EXPECT_THROW((void)expected_slowest(Seconds(1), {std::nan("")}, 2), std::logic_error);
  EXPECT_THROW((void)deviation_from_scaling(Seconds(1), Seconds(1), Seconds(), 1),
               std::logic_error);
  EXPECT_THROW((void)expected_normal_maximum(0), std::logic_error);
  EXPECT_THROW((void)expected_log_normal_maximum(2, -1), std::logic_error);
}

}  // namespace
}  // namespace dlscale::model
