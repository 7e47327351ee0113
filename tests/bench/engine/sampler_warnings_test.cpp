#include "bench/engine/sampler_warnings.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include "core/base/slowest_rank.hpp"
#include "core/base/statistics.hpp"

namespace dlscale::bench {
namespace {

std::vector<double> noisy(std::size_t n, double centre, double spread) {
  std::mt19937 random(11);
  std::normal_distribution<double> noise(centre, spread);
  std::vector<double> samples(n);
  for (double& sample : samples) sample = noise(random);
  return samples;
}

TEST(SamplingWarnings, AreSilentAboutSteadySamples) {
  EXPECT_TRUE(sampling_warnings(noisy(200, 1.0, 0.01), 0.02).empty());
}

TEST(SamplingWarnings, SayHowWideTheIntervalIs) {
  const auto warnings = sampling_warnings(noisy(20, 1.0, 0.3), 0.02);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings.front().find("after 20 samples (±2.0 %"), std::string::npos)
      << warnings.front();
}

TEST(SamplingWarnings, SayWhichWayTimesDrift) {
  std::vector<double> samples = noisy(50, 1.0, 0.005);
  const std::vector<double> later = noisy(50, 0.9, 0.005);
  samples.insert(samples.end(), later.begin(), later.end());
  const auto warnings = sampling_warnings(samples, 0.2);
  EXPECT_TRUE(warnings.empty()) << "a drift below what was asked for does not matter";
  const auto strict = sampling_warnings(samples, 0.02);
  ASSERT_FALSE(strict.empty());
  EXPECT_NE(strict.back().find("drift: the second half of the samples is -10."), std::string::npos)
      << strict.back();
}

TEST(SamplingWarnings, SayThatNeighboursResembleEachOther) {
  std::vector<double> samples;
  for (int i = 0; i < 200; ++i) samples.push_back(1 + 0.02 * std::sin(0.1 * std::numbers::pi * i));
  constexpr double wanted = 0.008;
  ASSERT_LE(relative_half_width(summarize(samples)), wanted) << "else the width is warned of";
  const auto warnings = sampling_warnings(samples, wanted);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings.front().find("neighbouring times resemble each other (correlation 0.8"),
            std::string::npos)
      << warnings.front();
  EXPECT_TRUE(sampling_warnings(samples, 0.03).empty()) << "all are within what was asked for";
  std::shuffle(samples.begin(), samples.end(), std::mt19937(7));
  EXPECT_TRUE(sampling_warnings(samples, wanted).empty()) << "the same in another order";
}

TEST(SamplingWarnings, SayThatFiveSamplesHaveNoInterval) {
  const std::vector<double> five(5, 1.0);
  const std::vector<double> six(6, 1.0);
  EXPECT_EQ(sampling_warnings(five, 0.02).size(), 1U);
  EXPECT_TRUE(sampling_warnings(six, 0.02).empty());
}

TEST(Slowest, IsTheMaximumOverRanksSampleBySample) {
  EXPECT_EQ(slowest_rank({{1, 5, 3}, {2, 4, 3}}), (std::vector<double>{2, 5, 3}));
}

TEST(Slowest, NeedsAsManySamplesOfEachRank) {
  EXPECT_THROW(slowest_rank({{1, 2}, {1}}), std::logic_error);
}

}  // namespace
}  // namespace dlscale::bench
