#include "bench/workbench/finding.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "core/base/error.hpp"

namespace dlscale::bench {
namespace {

Status status_of(const Finding& finding, DType dtype = DType::f32) {
  const auto measurement = rejected(finding, dtype);
  return measurement ? measurement->status : Status::ok;
}

TEST(Finding, OfASmallErrorMayBeTimed) {
  EXPECT_EQ(status_of({.error = 1e-5}), Status::ok);
  EXPECT_EQ(status_of({.error = 1e-3}), Status::wrong);
  EXPECT_EQ(status_of({.error = 1e-3}, DType::bf16), Status::ok) << "fewer digits";
}

TEST(Finding, ThatIsUnsupportedSaysWhy) {
  const auto measurement = rejected({.unsupported = "no groups here", .error = 9}, DType::f32);
  ASSERT_TRUE(measurement);
  EXPECT_EQ(measurement->status, Status::unsupported);
  EXPECT_EQ(measurement->reason, "no groups here");
}

TEST(Finding, NamesWhatIsWrongAndByHowMuch) {
  const auto measurement = rejected({.error = 0.5, .worst = "weight gradient"}, DType::f32);
  ASSERT_TRUE(measurement);
  EXPECT_EQ(measurement->reason.find("weight gradient differs from the reference by 5.0e-01"), 0U)
      << measurement->reason;
}

/// What `find` of each rank comes to on all.
std::vector<Finding> on_all(const std::vector<std::function<Finding()>>& find) {
  auto group = backend::local_group(static_cast<int>(find.size()));
  std::vector<Finding> found(group.size());
  {
    std::vector<std::jthread> ranks;
    for (std::size_t i = 0; i < group.size(); ++i) {
      ranks.emplace_back([&, i] { found[i] = find_on_all(*group[i], find[i]); });
    }
  }
  return found;
}

TEST(FindOnAll, TakesNoNumberForTheLargestError) {
  const auto fine = [] { return Finding{.error = 1e-6, .worst = "output", .mean_error = 1e-7}; };
  const auto spoilt = [] {
    return Finding{.error = std::nan(""), .worst = "output", .mean_error = std::nan("")};
  };
  for (const Finding& finding : on_all({fine, spoilt, fine})) {
    EXPECT_EQ(finding.error, HUGE_VAL);
    EXPECT_EQ(status_of(finding), Status::wrong);
    Measurement row;
    add_check(finding, Check::reference, row);
    EXPECT_FALSE(row.max_relative_error) << "a result file holds no infinity";
  }
}

TEST(FindOnAll, IsUnsupportedWhereOneRankCannotRunIt) {
  const auto fine = [] { return Finding{}; };
  const auto full = [] { return Finding{.unsupported = "no memory"}; };
  const auto found = on_all({fine, full});
  EXPECT_EQ(found[0].unsupported, "another rank cannot run it");
  EXPECT_EQ(found[1].unsupported, "no memory");
}

TEST(Check, IsYesOrNo) {
  EXPECT_EQ(parse_check("yes"), Check::reference);
  EXPECT_EQ(parse_check("no"), Check::none);
  EXPECT_THROW(parse_check("maybe"), ConfigError);
}

}  // namespace
}  // namespace dlscale::bench
