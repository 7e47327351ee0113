#include "report/comparison/common_change.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "report/comparison/comparison_table.hpp"
#include "tests/report/look_at.hpp"
#include "tests/report/samples.hpp"

namespace dlscale::report {
namespace {

/// Five repeats of several layers, which take so many times as long in B.
ComparisonReport shifted(const std::vector<double>& ratios) {
  std::vector<ResultFile> files(2, samples::file("conv", {}));
  for (std::size_t layer = 0; layer < ratios.size(); ++layer) {
    for (std::size_t side = 0; side < 2; ++side) {
      for (int repeat = 0; repeat < 5; ++repeat) {
        const double time = (side == 1 ? ratios[layer] : 1) * (1 + 0.01 * repeat);
        files[side].measurements.push_back(samples::timed(
            "conv", {{"layer", std::to_string(layer)}, {"repeat", std::to_string(repeat)}},
            std::vector<double>(6, time)));
      }
    }
  }
  return compare(std::span(files).first(1), std::span(files).last(1), 0.02);
}

TEST(CommonChange, FindsTheOneChangeThatExplainsItsRows) {
  const ComparisonReport slower = shifted({1.20, 1.19, 1.21, 1.20, 1.22, 1.18});
  ASSERT_TRUE(slower.common && slower.common->explains);
  EXPECT_NEAR(slower.common->ratio, 1.2, 1e-9);
  EXPECT_NEAR(slower.common->low, 1.2 / 1.04, 0.02) << "as wide as the interval of one row";
  const std::string said = comparison_document(slower).lead;
  EXPECT_TRUE(contains(said, ". One change of +20.0 % (95 % interval ")) << said;
  EXPECT_TRUE(contains(said, " explains 6 of 6 measurements, as a slower machine would")) << said;
  EXPECT_TRUE(shifted({0.8, 0.8, 0.8, 0.8}).common->explains);
  EXPECT_FALSE(shifted({1.0, 1.0, 1.0, 1.0}).common->explains) << "within the margin";
  EXPECT_FALSE(shifted({1.2, 1.2, 1.2}).common) << "too few rows";
}

TEST(CommonChange, ExplainsByOneChangeAllButAsManyRowsAsChanceTakes) {
  std::vector<double> ratios(18, 1.2);
  for (int misses = 1; misses <= 4; ++misses) {  // P(X ≥ 3) = 5.8 %, P(X ≥ 4) = 1.1 %
    ratios[static_cast<std::size_t>(misses)] = 1.15;  // outside its interval, inside the family's
    const ComparisonReport report = shifted(ratios);
    EXPECT_EQ(report.common->explained, 18U - static_cast<std::size_t>(misses));
    EXPECT_EQ(report.common->explains, misses < 4) << misses;
  }
}

TEST(CommonChange, DoesNotExplainRowsThatARowSurelyContradicts) {
  std::vector<double> ratios(18, 1.2);
  ratios[1] = 1.0;
  EXPECT_FALSE(shifted(ratios).common->explains) << "that row shows the machine unchanged";
  ratios[1] = 4.0;
  EXPECT_FALSE(shifted(ratios).common->explains) << "that row is slower for a reason of its own";
  ratios.assign(18, 0.8);
  ratios[1] = 1.3;
  EXPECT_FALSE(shifted(ratios).common->explains) << "a regression beside a faster machine";
}

}  // namespace
}  // namespace dlscale::report
