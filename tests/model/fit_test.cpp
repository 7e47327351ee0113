#include "model/fits/fit.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "tests/model/deepbench.hpp"

namespace dlscale::model {
namespace {

SizedTime point(double bytes, double seconds, double relative = 0) {
  return {Bytes(bytes),
          {Seconds(seconds), Seconds(seconds * (1 - relative)), Seconds(seconds * (1 + relative))}};
}

std::vector<SizedTime> sample(const std::function<double(double)>& time, double from, double to,
                              double factor) {
  std::vector<SizedTime> points;
  for (double bytes = from; bytes <= to; bytes *= factor)
    points.push_back(point(bytes, time(bytes)));
  return points;
}

double relative_loss(double alpha, double beta, const std::vector<SizedTime>& points) {
  double loss = 0;
  for (const SizedTime& p : points) {
    loss += std::pow((alpha + beta * p.size.si()) / p.time.value.si() - 1, 2);
  }
  return loss;
}

TEST(AffineFit, RecoversAnExactLine) {
  const auto points = sample([](double m) { return 3e-6 + 2e-9 * m; }, 64, 1e8, 3);
  const Segment fit = fit_affine(points);
  EXPECT_NEAR(fit.alpha.value.si(), 3e-6, 1e-15);
  EXPECT_NEAR(fit.beta.value.si(), 2e-9, 1e-18);
  EXPECT_NEAR(fit.median_residual, 0, 1e-9);
  EXPECT_EQ(fit.points, static_cast<int>(points.size()));
}

TEST(AffineFit, IsExactThroughTwoPoints) {
  const Segment fit = fit_affine(std::vector{point(1000, 5e-6), point(2000, 6e-6)});
  EXPECT_NEAR(fit.alpha.value.si(), 4e-6, 1e-15);
  EXPECT_NEAR(fit.beta.value.si(), 1e-9, 1e-18);
}

/// The constrained optimum has no better neighbour, near or far.
void expect_optimal(const std::vector<SizedTime>& points) {
  const Segment fit = fit_affine(points);
  const double alpha = fit.alpha.value.si();
  const double beta = fit.beta.value.si();
  EXPECT_GE(alpha, 0);
  EXPECT_GE(beta, 0);
  const double least = relative_loss(alpha, beta, points);
  for (const double da : {-1e-5, -1e-8, 0.0, 1e-8, 1e-5}) {
    for (const double db : {-1e-9, -1e-12, 0.0, 1e-12, 1e-9}) {
      if (alpha + da < 0 || beta + db < 0) continue;
      EXPECT_GE(relative_loss(alpha + da, beta + db, points), least * (1 - 1e-9));
    }
  }
}

TEST(AffineFit, KeepsParametersNonNegativeAndStillOptimal) {
  // A line with negative start, falling times, and noise.
  expect_optimal(sample([](double m) { return 1e-9 * m - 2e-6; }, 4096, 1e7, 2));
  expect_optimal(sample([](double m) { return 1e-3 - 1e-11 * m; }, 4096, 1e7, 2));
  std::mt19937 random(1);
  std::lognormal_distribution<double> noise(0, 0.3);
  for (int trial = 0; trial < 20; ++trial) {
    expect_optimal(sample([&](double m) { return (1e-6 + 1e-9 * m) * noise(random); }, 64, 1e6, 2));
  }
}

TEST(AffineFit, RefitsTheSlopeWhereTheStartIsHeldAtZero) {
  const Segment fit =
      fit_affine(std::vector{point(1000, 1e-6), point(2000, 4e-6), point(4000, 9e-6)});
  EXPECT_EQ(fit.alpha.value.si(), 0);
  // Least squares through the origin on relative error: β = Σ r / Σ r², r = m / t.
  const double r1 = 1e9, r2 = 5e8, r3 = 4000 / 9e-6;
  EXPECT_NEAR(fit.beta.value.si(), (r1 + r2 + r3) / (r1 * r1 + r2 * r2 + r3 * r3), 1e-20);
}

TEST(AffineFit, CoversTheTruthInNineteenOfTwentyCases) {
  std::mt19937 random(2);
  std::normal_distribution<double> noise(0, 0.02);
  int alpha_covered = 0;
  int beta_covered = 0;
  constexpr int trials = 1000;
  for (int trial = 0; trial < trials; ++trial) {
    const auto points =
        sample([&](double m) { return (1e-5 + 1e-9 * m) * (1 + noise(random)); }, 1024, 1e6, 2);
    const Segment fit = fit_affine(points);
    alpha_covered += fit.alpha.low.si() <= 1e-5 && 1e-5 <= fit.alpha.high.si() ? 1 : 0;
    beta_covered += fit.beta.low.si() <= 1e-9 && 1e-9 <= fit.beta.high.si() ? 1 : 0;
  }
  EXPECT_NEAR(alpha_covered / double(trials), 0.95, 0.025);
  EXPECT_NEAR(beta_covered / double(trials), 0.95, 0.025);
}

/// Share of 1000 fits under noise whose interval of T(m) holds α + 1 ns/B m.
double share_held(double alpha, double m, double noise_deviation) {
  std::mt19937 random(5);
  std::normal_distribution<double> noise(0, noise_deviation);
  int held = 0;
  constexpr int trials = 1000;
  for (int trial = 0; trial < trials; ++trial) {
    const auto points =
        sample([&](double s) { return (alpha + 1e-9 * s) * (1 + noise(random)); }, 1024, 1e6, 2);
    const Estimate<Seconds> time = Piecewise({fit_affine(points)}).time(Bytes(m));
    const double truth = alpha + 1e-9 * m;
    held += time.low.si() <= truth && truth <= time.high.si() ? 1 : 0;
  }
  return held / double(trials);
}

TEST(AffineFit, HoldsTheTimeOfEachSizeInNineteenOfTwentyCases) {
  for (const double alpha : {1e-5, 0.0}) {  // without a start-up, half of the fits are held at 0
    for (const double m : {256.0, 1024.0, 30000.0, 1e6, 1e7}) {
      EXPECT_GE(share_held(alpha, m, 0.02), 0.9) << alpha << " " << m;
      EXPECT_LE(share_held(alpha, m, 0.02), 0.99) << alpha << " " << m;
    }
  }
}

TEST(AffineFit, IsSurerOfATimeThanOfBothParametersAtOnce) {
  int turn = 0;
  const Segment fit = fit_affine(sample(
      [&](double m) { return (1e-5 + 1e-9 * m) * (++turn % 2 == 0 ? 1.02 : 0.98); }, 1024, 1e6, 2));
  ASSERT_TRUE(fit.spread);
  for (const double m : {1024.0, 10000.0, 1e6}) {
    const Estimate<Seconds> time = fit.time(1, Bytes(m));
    const Seconds both = fit.alpha.high + Bytes(m) * fit.beta.high;
    EXPECT_GT(time.high, time.value) << m;
    EXPECT_LT(time.high, both) << m;
  }
  Segment stated = fit;  // as files of earlier versions have it
  stated.spread.reset();
  EXPECT_EQ(stated.time(1, Bytes(1e4)).high, fit.alpha.high + Bytes(1e4) * fit.beta.high);
}

TEST(AffineFit, WidensItsIntervalWithThatOfTheMeasurements) {
  std::vector<SizedTime> points;
  for (double m = 1000; m < 1e6; m *= 2) points.push_back(point(m, 1e-6 + 1e-9 * m, 0.1));
  const Segment fit = fit_affine(points);
  EXPECT_GT(fit.beta.high.si(), 1.01e-9);
  EXPECT_LT(fit.beta.low.si(), 0.99e-9);
}

/// A start-up and a time for each byte.
struct FittedLine {
  double alpha;
  double beta;
};

TEST(AffineFit, AgreesWithThePublishedFitsOfCheckC080) {
  const FittedLine lines[] = {{29.3e-6, 8.156e-11}, {38.6e-6, 1.326e-10}, {71.1e-6, 1.975e-10}};
  for (std::size_t set = 0; set < deep_bench.size(); ++set) {
    const int ranks = deep_bench[set].ranks;
    std::vector<SizedTime> points;
    for (std::size_t i = 0; i < deep_bench_floats.size(); ++i) {
      points.push_back(point(4 * deep_bench_floats[i], deep_bench[set].milliseconds[i] * 1e-3));
    }
    const Segment fit = fit_affine(points);
    EXPECT_NEAR(fit.alpha.value.si() / lines[set].alpha, 1, 0.01) << ranks;
    EXPECT_NEAR(fit.beta.value.si() / lines[set].beta, 1, 0.002) << ranks;
    EXPECT_LT(fit.median_residual, 0.006) << ranks;
  }
}

/// Three protocols of a message-passing library.
double three_regimes(double m) {
  if (m <= 4096) return 2e-6 + 3e-10 * m;
  if (m <= 262144) return 12e-6 + 4e-10 * m;
  return 80e-6 + 1.5e-10 * m;
}

TEST(PiecewiseFit, FindsTheBreakpointsOfThreeExactRegimes) {
  const auto segments = fit_piecewise(sample(three_regimes, 64, 1e8, 2));
  ASSERT_EQ(segments.size(), 3U);
  EXPECT_TRUE(segments[0].to.si() > 4096 && segments[0].to.si() < 8192);
  EXPECT_TRUE(segments[1].to.si() > 262144 && segments[1].to.si() < 524288);
  EXPECT_NEAR(segments[1].alpha.value.si(), 12e-6, 1e-12);
  EXPECT_NEAR(segments[2].beta.value.si(), 1.5e-10, 1e-16);
}

TEST(PiecewiseFit, FindsThemUnderNoise) {
  std::mt19937 random(4);
  std::normal_distribution<double> noise(0, 0.02);
  std::vector<SizedTime> points;
  for (double m = 64; m < 1e8; m *= 1.6) {
    points.push_back(point(m, three_regimes(m) * (1 + noise(random)), 0.04));
  }
  const auto segments = fit_piecewise(points);
  const Piecewise cost(segments);
  for (double m = 100; m < 5e7; m *= 1.9) {
    EXPECT_NEAR(cost.time(Bytes(m)).value.si() / three_regimes(m), 1, 0.06) << m;
  }
  EXPECT_LE(segments.size(), 4U);
}

TEST(PiecewiseFit, SpendsNoSegmentOnNoise) {
  std::mt19937 random(6);
  std::normal_distribution<double> noise(0, 0.03);
  int superfluous = 0;
  for (int trial = 0; trial < 50; ++trial) {
    const auto points =
        sample([&](double m) { return (5e-6 + 1e-9 * m) * (1 + noise(random)); }, 64, 1e8, 1.8);
    superfluous += fit_piecewise(points).size() > 1 ? 1 : 0;
  }
  EXPECT_LE(superfluous, 10);
}

TEST(PiecewiseFit, IsContiguousAndAscending) {
  const auto points = sample(three_regimes, 64, 1e8, 2);
  const auto segments = fit_piecewise(points);
  EXPECT_EQ(segments.front().from.si(), points.front().size.si());
  EXPECT_EQ(segments.back().to.si(), points.back().size.si());
  for (std::size_t i = 1; i < segments.size(); ++i) EXPECT_EQ(segments[i - 1].to, segments[i].from);
}

TEST(PiecewiseFit, UsesOneLineForFewPoints) {
  EXPECT_EQ(fit_piecewise(sample(three_regimes, 1024, 1e7, 16)).size(), 1U);
}

TEST(PiecewiseFit, RefusesUnorderedPointsAndSinglePoints) {
  EXPECT_THROW(fit_piecewise(std::vector{point(1, 1)}), std::logic_error);
  EXPECT_THROW(fit_piecewise(std::vector{point(2, 1), point(1, 1)}), std::logic_error);
  EXPECT_THROW(fit_piecewise(std::vector{point(1, 1), point(1, 2)}), std::logic_error);
  EXPECT_THROW(fit_piecewise(std::vector{point(1, 0), point(2, 1)}), std::logic_error);
}

}  // namespace
}  // namespace dlscale::model
