#include "model/sgd_iter/cluster/stragglers.hpp"
#include "tests/model/independent_forms.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <random>
#include <stdexcept>
#include <vector>

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

TEST(HarmonicNumber, IsTheSumWhereItsSeriesTakesOver) {
  EXPECT_EQ(harmonic_number(0), 0);
  double sum = 0;
  for (std::int64_t n = 1; n <= 300; ++n) {
    sum += 1 / static_cast<double>(n);
    EXPECT_NEAR(harmonic_number(n), sum, 1e-13) << n;
  }
}

Spread of(SpreadShape shape, double mean, double deviation) {
  return {shape, Seconds(mean), Seconds(deviation)};
}
constexpr SpreadShape shapes[] = {SpreadShape::normal, SpreadShape::log_normal,
                                  SpreadShape::exponential};

TEST(Slowest, IsTheMeanOfOneWorkerAndOfTimesWithoutSpread) {
  for (const SpreadShape shape : shapes) {
    EXPECT_NEAR(expected_slowest(of(shape, 0.3, 0.1), 1).si(), 0.3, 1e-12);
    EXPECT_NEAR(expected_slowest(of(shape, 0.3, 0), 5000).si(), 0.3, 1e-10);
  }
}

TEST(Slowest, GrowsWithWorkersAndStaysBelowTheBoundOfAnyTimes) {
  for (const SpreadShape shape : shapes) {
    Seconds last;
    for (const std::int64_t n : numbers) {
      const Seconds slowest = expected_slowest(of(shape, 0.3, 0.1), n);
      EXPECT_GT(slowest, last) << n;
      EXPECT_LE(slowest.si(), slowest_at_most(Seconds(0.3), Seconds(0.1), n).si() + 1e-12) << n;
      last = slowest;
    }
  }
  EXPECT_NEAR(slowest_at_most(Seconds(1), Seconds(1), 2).si(), 1 + 1 / std::sqrt(3.0), 1e-12);
}

TEST(Slowest, OfExponentialTimesHasAHarmonicTail) {
  const Spread spread = of(SpreadShape::exponential, 0.25, 0.05);
  EXPECT_NEAR(expected_slowest(spread, 8).si(), 0.2 + 0.05 * 761.0 / 280, 1e-12);
}

/// The mean over 20,000 steps of the slowest of 16. Its standard error is below 1 % of the
/// deviation of a worker, for the slowest deviates at most 1.3 times as much.
template <class Distribution>
double slowest_of_16_drawn(Distribution draw) {
  std::mt19937 random(9);
  double sum = 0;
  const int steps = 20000;
  for (int step = 0; step < steps; ++step) {
    double slowest = draw(random);
    for (int i = 1; i < 16; ++i) slowest = std::max(slowest, draw(random));
    sum += slowest;
  }
  return sum / steps;
}

TEST(Slowest, IsTheMeanOfManyDraws) {
  const double tolerance = 0.004;  // of a deviation of 0.1: four standard errors and more
  EXPECT_NEAR(expected_slowest(of(SpreadShape::normal, 0.3, 0.1), 16).si(),
              slowest_of_16_drawn(std::normal_distribution<double>(0.3, 0.1)), tolerance);
  const double s = std::sqrt(std::log1p(1.0 / 9));
  EXPECT_NEAR(
      expected_slowest(of(SpreadShape::log_normal, 0.3, 0.1), 16).si(),
      slowest_of_16_drawn(std::lognormal_distribution<double>(std::log(0.3) - s * s / 2, s)),
      tolerance);
  EXPECT_NEAR(expected_slowest(of(SpreadShape::exponential, 0.3, 0.1), 16).si(),
              0.2 + slowest_of_16_drawn(std::exponential_distribution<double>(10)), tolerance);
}

TEST(Slowest, OfMeasuredTimesIsTheMeanOfAllDraws) {
  const std::vector<Seconds> times{Seconds(3), Seconds(1), Seconds(2)};
  EXPECT_NEAR(expected_slowest(times, 1).si(), 2, 1e-12);
  EXPECT_NEAR(expected_slowest(times, 2).si(), (1 * 1 + 3 * 2 + 5 * 3) / 9.0, 1e-12);
  EXPECT_NEAR(expected_slowest(times, 1'000'000).si(), 3, 1e-12);
  EXPECT_EQ(expected_slowest(std::vector{Seconds(7)}, 12).si(), 7);
}

TEST(BackupWorkers, SaveTheTailOfTheSlowest) {
  const Spread spread = of(SpreadShape::exponential, 0.25, 0.05);
  EXPECT_EQ(expected_kth(spread, 8, 8), expected_slowest(spread, 8));
  EXPECT_NEAR(expected_kth(spread, 1, 8).si(), 0.2 + 0.05 / 8, 1e-12);  // the least of eight
  Seconds last;
  for (std::int64_t k = 1; k <= 100; ++k) {
    EXPECT_GT(expected_kth(spread, k, 100), last) << k;
    last = expected_kth(spread, k, 100);
  }
  EXPECT_THROW((void)expected_kth(of(SpreadShape::normal, 1, 0.1), 1, 2), std::logic_error);
  EXPECT_THROW((void)expected_kth(spread, 3, 2), std::logic_error);
  EXPECT_THROW((void)expected_kth(spread, 0, 2), std::logic_error);
}

TEST(IndependentUnits, AreNodesWhereTheseAreSlowTogether) {
  EXPECT_EQ(independent_units(1536, 6), 256);
  EXPECT_EQ(independent_units(9, 8), 2);
  EXPECT_EQ(independent_units(3, 8), 1);
}

TEST(DeviationFromScaling, IsWhatSpreadLosesThatMuch) {
  const Spread spread = of(SpreadShape::normal, 0.2, 0.012);
  const Seconds comm(0.03);
  const Seconds iteration = expected_slowest(spread, 64) + comm;
  const auto found = deviation_from_scaling(iteration, spread.mean, comm, 64);
  ASSERT_TRUE(found.has_value());
  EXPECT_NEAR(found->si(), 0.012, 1e-12);
  EXPECT_FALSE(deviation_from_scaling(Seconds(0.1), Seconds(0.2), comm, 64).has_value());
}

TEST(Slowest, OfNobodyOrOfImpossibleTimesIsACallersMistake) {
  for (const SpreadShape shape : shapes) {
    EXPECT_THROW((void)expected_slowest(of(shape, 1, 0.1), 0), std::logic_error);
    EXPECT_THROW((void)expected_slowest(of(shape, 0, 0), 2), std::logic_error);
    EXPECT_THROW((void)expected_slowest(of(shape, 1, -0.1), 2), std::logic_error);
    EXPECT_THROW((void)expected_slowest(of(shape, stragglers_infinity, 0.1), 2), std::logic_error);
    EXPECT_THROW((void)expected_slowest(of(shape, 1, std::nan("")), 2), std::logic_error);
  }
  EXPECT_THROW((void)expected_slowest(of(SpreadShape::exponential, 1, 2), 2), std::logic_error);
  EXPECT_THROW((void)expected_slowest(std::vector<Seconds>{}, 2), std::logic_error);
  EXPECT_THROW((void)expected_slowest(std::vector{Seconds(stragglers_infinity)}, 2),
               std::logic_error);
  EXPECT_THROW((void)independent_units(0, 1), std::logic_error);
  EXPECT_THROW((void)deviation_from_scaling(Seconds(1), Seconds(1), Seconds(), 1),
               std::logic_error);
  EXPECT_THROW((void)expected_normal_maximum(0), std::logic_error);
  EXPECT_THROW((void)expected_log_normal_maximum(2, -1), std::logic_error);
  EXPECT_THROW((void)harmonic_number(-1), std::logic_error);
}

}  // namespace
}  // namespace dlscale::model
