#include "bench/memory/host/cache_levels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

namespace dlscale::bench {
namespace {

/// The part of the accesses that miss a cache that replaces anything, of a cycle through `bytes`: a
/// line is there still if none of the misses since then, m of all N accesses, has hit it:
/// 1 - m = exp(-m N / C).
double misses(double bytes, double capacity) {
  if (bytes <= capacity) return 0;
  double part = 1;
  for (int i = 0; i < 200; ++i) part = 1 - std::exp(-part * bytes / capacity);
  return part;
}

/// Caches of 32 KiB at 30 and of 1 MiB at 200, then 700.
double mean_latency(double bytes) {
  return 30 + 170 * misses(bytes, 32768) + 500 * misses(bytes, 1048576);
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

TEST(CacheLevels, EndNearTheirCapacityWhereMissesComeSlowly) {
  const auto levels = find_levels(sweep(mean_latency));
  ASSERT_EQ(levels.size(), 3U);
  EXPECT_EQ(levels[0].bytes_low, 32768U);
  EXPECT_NEAR(static_cast<double>(levels[0].bytes), 32768, 0.25 * 32768);
  EXPECT_GT(levels[0].bytes_high, levels[0].bytes);
  EXPECT_NEAR(static_cast<double>(levels[1].bytes), 1048576, 0.25 * 1048576);
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

/// Caches of which other things take up a part now and then, under normal noise and a few long
/// interruptions.
std::vector<SizeLatency> noisy_sweep(std::uint64_t seed, double deviation) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> noise(0.0, deviation);
  std::uniform_real_distribution<double> part(0.0, 1.0);
  auto latencies = sweep([](double bytes) {
    const double over = std::max(0.0, bytes / 1048576.0 - 1);
    return bytes <= 49152 ? 4.0 : 14 + 50 * std::min(1.0, 2 * over);
  });
  for (SizeLatency& each : latencies) {
    each.latency *= std::exp(noise(random));
    if (part(random) < 0.03) each.latency *= 1.5;
  }
  return latencies;
}

TEST(CacheLevels, AreFoundInStaircasesOfManyKinds) {
  for (const double deviation : {0.0, 0.005, 0.02}) {
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
      const auto levels = find_levels(noisy_sweep(seed, deviation));
      ASSERT_GE(levels.size(), 2U) << seed;
      EXPECT_NEAR(static_cast<double>(levels[0].bytes), 49152, 0.25 * 49152) << seed;
      EXPECT_NEAR(levels[0].latency, 4, 0.04 + 4 * deviation) << seed;
      EXPECT_NEAR(static_cast<double>(levels[1].bytes), 1048576, 0.25 * 1048576) << seed;
      EXPECT_NEAR(levels[1].latency, 14, 0.14 + 14 * deviation) << seed;
    }
  }
}

TEST(CacheLevels, HaveIntervalsAroundWhatTheyAre) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    const auto levels = find_levels(noisy_sweep(seed, 0.02));
    for (const CacheLevel& level : levels) {
      EXPECT_LE(level.bytes_low, level.bytes);
      EXPECT_LE(level.bytes, level.bytes_high);
      EXPECT_LE(level.latency_low, level.latency);
      EXPECT_LE(level.latency, level.latency_high);
    }
    EXPECT_EQ(levels.back().bytes_high, levels.back().bytes);
  }
}

TEST(CacheLevels, GrowAndSlowDown) {
  std::mt19937_64 random(7);
  std::lognormal_distribution<double> any(0, 1);
  for (int round = 0; round < 50; ++round) {
    auto latencies = sweep([](double bytes) { return bytes; });
    for (SizeLatency& each : latencies) each.latency = any(random);  // nothing but noise
    const auto levels = find_levels(latencies);
    for (std::size_t i = 1; i < levels.size(); ++i) {
      EXPECT_GT(levels[i].bytes, levels[i - 1].bytes);
      EXPECT_GT(levels[i].latency, levels[i - 1].latency);
    }
  }
}

/// As measured on two processors of a virtual machine while others compiled on them: in the second
/// level other programs take up more the larger the set, in the third still more.
TEST(CacheLevels, AreFoundWhereOthersUseThemToo) {
  const auto levels = find_levels(std::vector<SizeLatency>{
      {4096, 1.01},       {4864, 1.02},      {5760, 1.02},       {6848, 1.02},
      {8192, 1.02},       {9728, 1.03},      {11584, 1.03},      {13760, 1.03},
      {16384, 1.06},      {19456, 1.07},     {23168, 1.05},      {27520, 1.17},
      {32768, 2.29},      {38912, 1.98},     {46336, 3.12},      {55104, 3.30},
      {65536, 3.45},      {77888, 3.50},     {92672, 3.46},      {110208, 3.51},
      {131072, 3.56},     {155840, 3.60},    {185344, 3.64},     {220416, 3.94},
      {262144, 3.70},     {311680, 3.86},    {370688, 3.90},     {440832, 4.12},
      {524288, 4.56},     {623424, 5.10},    {741440, 5.22},     {881728, 6.15},
      {1048576, 7.27},    {1246912, 7.68},   {1482880, 8.57},    {1763456, 9.93},
      {2097152, 10.84},   {2493888, 11.61},  {2965760, 11.89},   {3526912, 12.29},
      {4194304, 12.69},   {4987840, 13.19},  {5931584, 13.69},   {7053888, 93.30},
      {8388608, 40.62},   {9975744, 70.17},  {11863232, 142.66}, {14107840, 139.53},
      {16777216, 139.73}, {19951552, 143.63}});
  ASSERT_EQ(levels.size(), 4U);
  EXPECT_NEAR(levels[1].latency, 3.6, 0.36);
  EXPECT_NEAR(static_cast<double>(levels[1].bytes), 1048576, 0.25 * 1048576);
  EXPECT_NEAR(levels[2].latency, 12.5, 1.25);
  EXPECT_EQ(levels[2].bytes, 5931584U);
}

TEST(CacheLevels, AreNotAFewSizesThatStandClose) {
  auto latencies = sweep([](double bytes) { return bytes <= 49152 ? 4.0 : 14.0; });
  std::vector<SizeLatency> with_step;
  for (const SizeLatency& each : latencies) {
    if (each.bytes > 49152 && with_step.back().bytes <= 49152) {
      for (const std::size_t bytes : {49600U, 51200U, 52800U, 54400U})
        with_step.push_back({bytes, 8});
    }
    with_step.push_back(each);
  }
  EXPECT_EQ(find_levels(with_step).size(), 2U);
}

TEST(CacheLevels, AreNotSlopesThatTheLatencyClimbsAllAlong) {
  const auto levels = find_levels(sweep([](double bytes) {
    return 10 * std::pow(bytes / 4096, 0.25);  // by 19 % with every doubling
  }));
  EXPECT_TRUE(levels.empty());
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

TEST(SizesBetween, AreFinerWhereALevelEnds) {
  const std::vector<CacheLevel> levels{
      {.bytes = 4096, .bytes_low = 4096, .bytes_high = 8192},
      {.bytes = 1 << 20, .bytes_low = 8192, .bytes_high = 1 << 20}};
  const auto sizes = sizes_between(levels, 64);
  EXPECT_EQ(sizes.size(), 15U);
  EXPECT_GT(sizes.front(), 4096U);
  EXPECT_LT(sizes.back(), 8192U);
  for (const std::size_t size : sizes) EXPECT_EQ(size % 64, 0U);
  EXPECT_TRUE(sizes_between({}, 64).empty());
}

}  // namespace
}  // namespace dlscale::bench
