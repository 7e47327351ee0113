#include "bench/memory/cache_levels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

namespace dlscale::bench {
namespace {

/// Random accesses to a working set of which caches hold what they can: 32 KiB at 30, 1 MiB at
/// 200, then 700.
double mean_latency(double bytes) {
  const double first = std::min(1.0, 32768.0 / bytes);
  const double second = std::min(1.0, 1048576.0 / bytes);
  return 30 * first + 200 * (second - first) + 700 * (1 - second);
}

std::vector<SizeLatency> sweep(double (*latency)(double)) {
  std::vector<SizeLatency> all;
  for (const std::size_t bytes : sweep_sizes(4096, std::size_t{64} << 20, 128)) {
    all.push_back({bytes, latency(static_cast<double>(bytes))});
  }
  return all;
}

TEST(CacheLevels, AreTheStretchesOfOneLatency) {
  const auto levels = find_levels(sweep([](double bytes) {
    return bytes <= 32768 ? 30.0 : bytes <= 1048576 ? 200.0 : 700.0;
  }));
  ASSERT_EQ(levels.size(), 3U);
  EXPECT_EQ(levels[0].bytes, 32768U);
  EXPECT_EQ(levels[1].bytes, 1048576U);
  EXPECT_EQ(levels[2].bytes, std::size_t{64} << 20);
  EXPECT_DOUBLE_EQ(levels[0].latency, 30);
  EXPECT_DOUBLE_EQ(levels[1].latency, 200);
  EXPECT_DOUBLE_EQ(levels[2].latency, 700);
}

TEST(CacheLevels, BeginWhereTheFirstMissesShow) {
  const auto levels = find_levels(sweep(mean_latency));
  ASSERT_EQ(levels.size(), 3U);
  EXPECT_EQ(levels[0].bytes, 32768U);
  EXPECT_EQ(levels[1].bytes, 1048576U);
  EXPECT_DOUBLE_EQ(levels[0].latency, 30);
  EXPECT_NEAR(levels[1].latency, 200, 20);
  EXPECT_NEAR(levels[2].latency, 700, 70);
}

TEST(CacheLevels, AreFoundUnderNoise) {
  std::mt19937 random(1);
  std::normal_distribution<double> noise(1.0, 0.01);
  auto latencies = sweep([](double bytes) { return bytes <= 262144 ? 40.0 : 250.0; });
  for (SizeLatency& each : latencies) each.latency *= noise(random);
  const auto levels = find_levels(latencies);
  ASSERT_EQ(levels.size(), 2U);
  EXPECT_EQ(levels[0].bytes, 262144U);
}

TEST(CacheLevels, AreOneWhereNothingChanges) {
  const auto levels = find_levels(sweep([](double) { return 5.0; }));
  ASSERT_EQ(levels.size(), 1U);
  EXPECT_EQ(levels[0].bytes, std::size_t{64} << 20);
}

TEST(CacheLevels, AreOneWhereTheLatencyCreeps) {
  const auto levels =
      find_levels(sweep([](double bytes) { return bytes <= 262144 ? 100.0 : 115.0; }));
  EXPECT_EQ(levels.size(), 1U);
}

TEST(CacheLevels, AreNoneWhereNothingIsFlat) {
  EXPECT_TRUE(find_levels(sweep([](double bytes) { return bytes; })).empty());
  EXPECT_TRUE(find_levels({}).empty());
  const auto few = sweep([](double) { return 5.0; });
  EXPECT_TRUE(find_levels(std::span(few).first(3)).empty());
  EXPECT_EQ(find_levels(std::span(few).first(4)).size(), 1U);
}

TEST(SweepSizes, GrowByAQuarterOfADoublingInWholeStrides) {
  const auto sizes = sweep_sizes(4096, 65536, 128);
  EXPECT_EQ(sizes.front(), 4096U);
  EXPECT_EQ(sizes.back(), 65536U);
  EXPECT_EQ(sizes.size(), 4U * 4 + 1);
  for (const std::size_t size : sizes) EXPECT_EQ(size % 128, 0U);
  EXPECT_EQ(std::ranges::adjacent_find(sizes, std::greater_equal<>()), sizes.end());
  EXPECT_EQ(sweep_sizes(128, 256, 128), (std::vector<std::size_t>{128, 256}));
  EXPECT_EQ(sweep_sizes(4096, 4096, 4096), std::vector<std::size_t>{4096});
}

}  // namespace
}  // namespace dlscale::bench
