#include "bench/e2e/training_watch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dlscale::bench {
namespace {

using testing::HasSubstr;

/// What each rank takes, in every one of 20 iterations.
Series constant(const std::vector<double>& by_rank) {
  std::vector<std::vector<double>> samples;
  samples.reserve(by_rank.size());
  for (const double each : by_rank) samples.emplace_back(20, each);
  return make_series("s", std::move(samples));
}

std::map<std::string, Series> phases(const std::vector<double>& backward,
                                     const std::vector<double>& exposed) {
  return {{"t_iter", constant(std::vector<double>(backward.size(), 10e-3))},
          {"t_io", constant(std::vector<double>(backward.size(), 1e-3))},
          {"t_h2d", constant(std::vector<double>(backward.size(), 0))},
          {"t_f", constant(std::vector<double>(backward.size(), 2e-3))},
          {"t_b", constant(backward)},
          {"t_comm_exposed", constant(exposed)},
          {"t_u", constant(std::vector<double>(backward.size(), 1e-3))}};
}

TEST(LongestRank, IsNamedThoughAllIterationsTakeEquallyLong) {
  const auto warnings = longest_rank_warnings(phases({3e-3, 5e-3, 3e-3}, {3e-3, 1e-3, 3e-3}));
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_THAT(warnings.front(),
              HasSubstr("rank 1 computes longest in 100 % of the iterations, by 20 "
                        "% of their time, most of it in backward"));
}

TEST(LongestRank, IsNobodyWhereItChangesNothing) {
  EXPECT_TRUE(longest_rank_warnings(phases({3e-3, 3.4e-3}, {3e-3, 2.6e-3})).empty());
  EXPECT_TRUE(longest_rank_warnings(phases({3e-3}, {0})).empty());
  auto untimed = phases({3e-3, 5e-3}, {3e-3, 1e-3});
  untimed.erase("t_f");
  EXPECT_TRUE(longest_rank_warnings(untimed).empty());
}

}  // namespace
}  // namespace dlscale::bench
