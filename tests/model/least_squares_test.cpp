#include "model/roofline/kernels/least_squares.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace dlscale::model {
namespace {

TEST(NonNegativeLeastSquares, FindsWhatIsThere) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> amounts(0, 1);
  Equations equations{.unknowns = 4, .coefficients = {}, .values = {}};
  const std::vector<double> truth{3, 0, 1e-3, 20};
  for (int i = 0; i < 30; ++i) {
    std::vector<double> row;
    double value = 0;
    for (const double x : truth) {
      row.push_back(amounts(random));
      value += x * row.back();
    }
    equations.add(row, value);
  }
  const auto found = non_negative_least_squares(equations, std::vector<double>(30, 1.0));
  for (std::size_t j = 0; j < truth.size(); ++j) EXPECT_NEAR(found[j], truth[j], 1e-6);
}

TEST(NonNegativeLeastSquares, NeverGoesBelowZeroAndCopesWithColumnsAlike) {
  Equations equations{.unknowns = 3, .coefficients = {}, .values = {}};
  for (int i = 1; i <= 5; ++i) equations.add(std::vector<double>{1.0 * i, 1.0 * i, 0}, -1.0 * i);
  EXPECT_EQ(non_negative_least_squares(equations, std::vector<double>(5, 1.0)),
            (std::vector<double>{0, 0, 0}));
  for (double& value : equations.values) value = -2 * value;
  const auto found = non_negative_least_squares(equations, std::vector<double>(5, 1.0));
  EXPECT_NEAR(found[0] + found[1], 2, 1e-6);
  EXPECT_EQ(found[2], 0);
}

TEST(NonNegativeLeastSquares, IsNotBentByAFewWildValues) {
  Equations equations{.unknowns = 1, .coefficients = {}, .values = {}};
  for (int i = 0; i < 20; ++i) equations.add(std::vector<double>{1}, i < 3 ? 50 : 2);
  EXPECT_NEAR(robust_non_negative(equations, std::vector<double>(20, 1.0)).front(), 2, 0.01);
}

TEST(NonNegativeLeastSquares, HeedsRowsByTheirImportance) {
  Equations equations{.unknowns = 1, .coefficients = {}, .values = {}};
  for (const double value : {1.0, 1.0, 4.0}) equations.add(std::vector<double>{1}, value);
  EXPECT_NEAR(non_negative_least_squares(equations, std::vector<double>{1, 1, 0.5}).front(), 1.6,
              1e-9);
  EXPECT_NEAR(robust_non_negative(equations, std::vector<double>{1, 1, 0}).front(), 1, 1e-9);
}

}  // namespace
}  // namespace dlscale::model
