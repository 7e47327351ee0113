#include "bench/workbench/values.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/base/error.hpp"

namespace dlscale::bench {
namespace {

constexpr float sigma = 0.01F;

std::vector<float> values_of(ValueKind kind) {
  std::vector<float> values(50000);
  OperandValues(kind).fill(values, sigma);
  return values;
}

/// The mean of the given power of |v|, in units of sigma.
double moment(const std::vector<float>& values, int power) {
  double sum = 0;
  for (const float value : values) sum += std::pow(double{value} / double{sigma}, power);
  return sum / static_cast<double>(values.size());
}

class RandomValues : public testing::TestWithParam<ValueKind> {};

TEST_P(RandomValues, HaveTheStandardDeviationAskedForAndNoDenormal) {
  const std::vector<float> values = values_of(GetParam());
  for (const float value : values) EXPECT_EQ(std::fpclassify(value), FP_NORMAL);
  EXPECT_NEAR(moment(values, 1), 0, 0.03);
  EXPECT_NEAR(moment(values, 2), 1, 0.06);
}

INSTANTIATE_TEST_SUITE_P(Kinds, RandomValues,
                         testing::Values(ValueKind::uniform, ValueKind::normal));

TEST(OperandValues, AreDistributedAsTheirNameSays) {
  // The fourth moment is 3 of a normal distribution, 9/5 of a uniform one.
  EXPECT_NEAR(moment(values_of(ValueKind::normal), 4), 3, 0.3);
  EXPECT_NEAR(moment(values_of(ValueKind::uniform), 4), 1.8, 0.1);
  EXPECT_LE(std::ranges::max(values_of(ValueKind::uniform)), 1.7321F * sigma);
  for (const float value : values_of(ValueKind::zeros)) EXPECT_EQ(value, 0.0F);
}

TEST(OperandValues, AreKnownByTheirPlace) {
  const OperandValues normal;
  std::vector<float> values(40000);
  normal.fill(values, 2.0F);
  for (const std::size_t i : {0, 1, 16380, 16381, 39999}) EXPECT_EQ(values[i], normal.at(i, 2.0F));
}

TEST(OperandValues, HaveNamesThatParseBack) {
  for (const ValueKind kind : {ValueKind::zeros, ValueKind::uniform, ValueKind::normal}) {
    EXPECT_EQ(parse_value_kind(std::string(value_kind_name(kind))), kind);
  }
  EXPECT_THROW(parse_value_kind("gaussian"), ConfigError);
}

}  // namespace
}  // namespace dlscale::bench
