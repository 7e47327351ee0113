// The parts of a walk along a history that spare medians: they must say what medians would.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "core/base/statistics.hpp"
#include "noise_models.hpp"
#include "regression/levels/level_noise.hpp"
#include "regression/levels/sorted_window.hpp"

namespace dlscale::regression {
namespace {

/// Noise of which a third is equal values.
std::vector<double> some_points(std::size_t count, Draws& draws) {
  std::vector<double> x;
  for (std::size_t i = 0; i < count; ++i) {
    const double value = draws.normal();
    x.push_back(draws.below(3) == 0 ? std::round(value) : value);
  }
  return x;
}

std::vector<double> distances(std::span<const double> x, double centre) {
  std::vector<double> all;
  for (const double value : x) all.push_back(std::abs(value - centre));
  return all;
}

TEST(SortedWindow, HasTheMediansOfItsPointsWhileItMovesAndJumps) {
  Draws draws(5);
  const std::vector<double> x = some_points(600, draws);
  SortedWindow window(x);
  std::size_t first = 0;
  for (std::size_t end = 2; end <= x.size(); end += 1 + draws.below(2) * draws.below(30)) {
    if (draws.below(4) == 0) first += draws.below(end - first - 1);
    const auto points = std::span(x).subspan(first, end - first);
    window.move_to(first, end);
    ASSERT_EQ(window.median(), median(points)) << first << " " << end;
    for (const double centre : {window.median(), -0.5, 9.0}) {
      ASSERT_EQ(window.median_distance(centre), median(distances(points, centre)));
    }
    const std::size_t place = first + 1 + draws.below(points.size() - 1);
    const SortedWindow::Medians parts = window.medians_at(place);
    ASSERT_EQ(parts.before, median(points.first(place - first)));
    ASSERT_EQ(parts.after, median(points.subspan(place - first)));
  }
}

LevelResiduals residuals_of(std::span<const double> values) {
  LevelResiduals residuals;
  std::ranges::copy(values, residuals.add(values.size()).begin());
  return residuals;
}

TEST(LevelResiduals, HaveNoLessNoiseThanTheLeast) {
  Draws draws(6);
  std::size_t bounded = 0;
  for (int i = 0; i < 2000; ++i) {
    std::vector<double> values = some_points(1 + draws.below(200), draws);
    // A third has grown, and a third has spikes.
    for (std::size_t at = 0; at < values.size(); ++at) {
      if (i % 3 == 0 && at > values.size() / 2) values[at] *= 4;
      if (i % 3 == 1 && draws.below(20) == 0) values[at] *= 30;
    }
    LevelResiduals residuals = residuals_of(values);
    const NoiseOfLevels noise = residuals.noise();
    for (const double share : {0.0, 0.5, 0.85, 1.0, 1.2}) {
      const auto least = residuals.least_noise(share * noise.scale);
      if (!least) continue;
      ++bounded;
      ASSERT_LE(least->scale, noise.scale);
      ASSERT_LE(least->variance, noise.variance);
    }
  }
  EXPECT_GT(bounded, 2500U);
}

TEST(LevelResiduals, BoundTheirNoiseClosely) {
  Draws draws(7);
  std::vector<double> values;
  for (int i = 0; i < 128; ++i) values.push_back(draws.normal());
  LevelResiduals residuals = residuals_of(values);
  const NoiseOfLevels noise = residuals.noise();
  const auto least = residuals.least_noise(0.85 * noise.scale);
  ASSERT_TRUE(least);
  EXPECT_GT(least->scale, 0.84 * noise.scale);
  EXPECT_GT(least->variance, 0.9 * noise.variance);
}

TEST(LevelResiduals, GiveNoBoundWhereTheLatestAreFarNoisier) {
  std::vector<double> values(100, 0.01);
  for (std::size_t i = 90; i < 100; ++i) values[i] = i % 2 == 0 ? 1 : -1;
  LevelResiduals residuals = residuals_of(values);
  EXPECT_GT(residuals.noise().variance, 0.5);
  EXPECT_FALSE(residuals.least_noise(0.01));
}

}  // namespace
}  // namespace dlscale::regression
