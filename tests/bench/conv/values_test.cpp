#include "bench/conv/values.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace dlscale::bench {
namespace {

TEST(NormalValues, HaveTheStandardDeviationAskedForAndNoDenormal) {
  std::vector<float> values(50000);
  NormalValues().fill(values, 0.01F);
  double sum = 0;
  double squares = 0;
  for (const float value : values) {
    EXPECT_EQ(std::fpclassify(value), FP_NORMAL);
    sum += double{value};
    squares += double{value} * double{value};
  }
  const auto n = static_cast<double>(values.size());
  EXPECT_NEAR(sum / n, 0, 3e-4);
  EXPECT_NEAR(std::sqrt(squares / n), 0.01, 3e-4);
}

TEST(NormalValues, AreKnownByTheirPlace) {
  const NormalValues normal;
  std::vector<float> values(40000);
  normal.fill(values, 2.0F);
  for (const std::size_t i : {0, 1, 16380, 16381, 39999}) EXPECT_EQ(values[i], normal.at(i, 2.0F));
}

}  // namespace
}  // namespace dlscale::bench
