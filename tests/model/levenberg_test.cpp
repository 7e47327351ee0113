#include "model/fits/levenberg.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <vector>

namespace dlscale::model {
namespace {

TEST(DampedStep, SolvesItsEquations) {
  const std::vector<double> H = {4, 1, 0, 1, 3, 1, 0, 1, 2};
  const std::vector<double> g = {1, -2, 3};
  for (const double damping : {0.0, 0.5}) {
    const std::vector<double> x = damped_step(H, g, damping);
    for (std::size_t i = 0; i < 3; ++i) {
      double sum = g[i] + damping * H[i * 3 + i] * x[i];
      for (std::size_t j = 0; j < 3; ++j) sum += H[i * 3 + j] * x[j];
      EXPECT_NEAR(sum, 0, 1e-12);
    }
  }
}

TEST(DampedStep, LeavesWhatNothingDependsOn) {
  const std::vector<double> x =
      damped_step(std::vector<double>{2, 0, 0, 0}, std::vector<double>{-2, 0}, 0.0);
  EXPECT_DOUBLE_EQ(x[0], 1);
  EXPECT_EQ(x[1], 0);
}

TEST(LeastSquares, FindsTheLeastOfRosenbrocksValley) {
  const auto valley = [](const std::vector<double>& at) {
    return std::vector<double>{10 * (at[1] - at[0] * at[0]), 1 - at[0]};
  };
  LeastSquares settings;
  settings.rounds = 200;
  settings.gain = 0;
  settings.step = 1e-7;
  const std::vector<double> least = least_squares(valley, {-1.2, 1}, settings);
  EXPECT_NEAR(least[0], 1, 1e-6);
  EXPECT_NEAR(least[1], 1, 1e-6);
}

TEST(LeastSquares, KeepsAPointWithoutCoordinates) {
  EXPECT_TRUE(least_squares([](const auto&) { return std::vector<double>{1}; }, {}).empty());
}

TEST(RobustResidual, IsSquaredWhenSmallAndLinearWhenLarge) {
  EXPECT_NEAR(robust_residual(1e-3, 4), 2e-3, 1e-8);
  EXPECT_NEAR(std::pow(robust_residual(-1e6, 1), 2), 2e6, 3);
  EXPECT_LT(robust_residual(-1, 1), 0);
}

}  // namespace
}  // namespace dlscale::model
