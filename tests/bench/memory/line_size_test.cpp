#include "bench/memory/host/line_size.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace dlscale::bench {
namespace {

std::vector<DistanceLatency> latencies(std::size_t line, double within, double beyond,
                                       double deviation = 0, std::uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> noise(1, deviation);
  std::vector<DistanceLatency> all;
  for (std::size_t distance = 8; distance <= 512; distance *= 2) {
    all.push_back({distance, (distance < line ? within : beyond) * noise(random)});
  }
  return all;
}

TEST(LineSize, IsWhereTheLatencyRises) {
  for (const std::size_t line : {32U, 64U, 128U, 256U}) {
    const auto found = find_line_size(latencies(line, 9, 14));
    ASSERT_TRUE(found);
    EXPECT_EQ(found->bytes, line);
    EXPECT_EQ(found->above, line / 2);
    EXPECT_NEAR(found->ratio, 14.0 / 9, 1e-9);
  }
}

TEST(LineSize, IsFoundUnderNoise) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const auto found = find_line_size(latencies(64, 9, 14, 0.02, seed));
    ASSERT_TRUE(found) << seed;
    EXPECT_EQ(found->bytes, 64U) << seed;
  }
}

TEST(LineSize, IsNotSeenInNoiseOrWhereTheRiseIsSmall) {
  int seen = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    seen += find_line_size(latencies(64, 9, 9, 0.05, seed)) ? 1 : 0;
  }
  EXPECT_EQ(seen, 0);
  EXPECT_FALSE(find_line_size(latencies(64, 9, 9.5)));
  EXPECT_FALSE(find_line_size(latencies(64, 14, 9)));
}

TEST(LineSize, NeedsThreeDistances) {
  EXPECT_FALSE(find_line_size({}));
  const auto all = latencies(16, 9, 14);
  EXPECT_FALSE(find_line_size(std::span(all).first(2)));
}

}  // namespace
}  // namespace dlscale::bench
