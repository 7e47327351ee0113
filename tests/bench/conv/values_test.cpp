#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "bench/workbench/step_run.hpp"
#include "bench/workbench/values.hpp"
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

/// Writes down that it ran.
class Noted : public StepRun {
 public:
  Noted(int number, std::vector<int>& ran) : number_(number), ran_(&ran) {}
  void run() override { ran_->push_back(number_); }
  [[nodiscard]] std::vector<std::span<std::byte>> produced() const override { return {}; }
  [[nodiscard]] std::string implementation() const override {
    return "noted " + std::to_string(number_);
  }

 private:
  int number_;
  std::vector<int>* ran_;
};

TEST(RotatingRun, RunsOnEachSetInTurn) {
  std::vector<int> ran;
  std::vector<std::unique_ptr<StepRun>> sets;
  for (const int number : {0, 1, 2}) sets.push_back(std::make_unique<Noted>(number, ran));
  const auto rotating = make_rotating_run(std::move(sets));
  for (int i = 0; i < 7; ++i) rotating->run();
  EXPECT_EQ(ran, (std::vector<int>{0, 1, 2, 0, 1, 2, 0}));
  EXPECT_EQ(rotating->implementation(), "noted 0");
}

TEST(OperandSets, AreManyOnlyInRotation) {
  const Workbench workbench(open_device("reference", 1), open_device("reference", 1), 1);
  for (const CacheState cache : settable_cache_states) {
    EXPECT_EQ(operand_sets(workbench, cache, Bytes(1e3)), 1);
  }
  EXPECT_EQ(operand_sets(workbench, CacheState::rotating, Bytes(1e6)),
            workbench.rotation_sets(Bytes(1e6)));
}

TEST(OperandSets, AreNotTakenWhereTheMemoryHoldsFewer) {
  const Workbench workbench(open_device("reference", 1), open_device("reference", 1), 1);
  const auto group = backend::local_group(1);
  const auto reason = [&](int sets, Bytes each) {
    return find_room(*group.front(), workbench, sets, [each] { return each; }).unsupported;
  };
  EXPECT_EQ(reason(2, Bytes(1e3)), "");
  EXPECT_EQ(reason(1, Bytes(1e18)), "");  // of one it is known
  const std::string many = reason(2, Bytes(1e18));
  EXPECT_EQ(many.find("of 2 sets of operands in rotation: "), 0U) << many;
}

}  // namespace
}  // namespace dlscale::bench
