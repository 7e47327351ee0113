#include "core/network/merge.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <span>
#include <stdexcept>
#include <vector>

namespace dlscale {
namespace {

struct TracedLayer {
  double parameters;
  double backward_us;
};

/// GoogLeNet, batch 64, on a K80, first layer first. [shyhuai/B-Caffe, trace of the authors of
/// MG-WFBP]
constexpr std::array<TracedLayer, 64> googlenet{
    {{9472, 15143.7},   {4160, 3825.38},   {110784, 21038.8},  {12352, 2641.02},
     {18560, 3080.61},  {110720, 6052.77}, {3136, 1952.83},    {12864, 1119.52},
     {6208, 2047.23},   {32896, 4329.54},  {32896, 4242.4},    {221376, 7513.63},
     {8256, 2643.9},    {76928, 3101.5},   {16448, 3380.64},   {92352, 4733.76},
     {46208, 2681.41},  {179968, 5296.16}, {7744, 1470.69},    {19264, 871.456},
     {30784, 2137.12},  {65664, 1476.58},  {2098176, 703.008}, {1025024, 460.512},
     {82112, 4075.14},  {57472, 2911.97},  {226048, 3050.18},  {12352, 1793.25},
     {38464, 1612.45},  {32832, 2221.54},  {65664, 3096.32},   {65664, 3116.74},
     {295168, 3534.24}, {12352, 1673.63},  {38464, 1461.28},   {32832, 2246.59},
     {57472, 2735.94},  {73920, 3884.7},   {373568, 4892.67},  {16448, 1745.82},
     {51264, 1556.86},  {32832, 2292.83},  {67712, 1424.9},    {2098176, 703.968},
     {1025024, 469.76}, {135424, 5788.32}, {84672, 4642.24},   {461120, 5166.24},
     {16960, 3048.51},  {102528, 2581.73}, {67712, 3296.7},    {213248, 3990.82},
     {133312, 3214.59}, {461120, 2036.86}, {26688, 1212.67},   {102528, 1015.55},
     {106624, 2499.81}, {319872, 2876.35}, {159936, 3467.62},  {663936, 2355.17},
     {40000, 1420.0},   {153728, 1250.91}, {106624, 2564.19},  {1025024, 461.088}}};

/// The cost of a message in the authors' simulation [shyhuai/B-Caffe scripts/gmwfbp.py].
LinearCost cost_on(double n) {
  const double bandwidth = 9.0 * 1024 * 1024 * 1024 / 8;
  return {Seconds(2 * n * 45.25e-6),
          SecondsPerByte(2 * (n - 1) / n * 1.2 / bandwidth + (n - 1) / n * 160 / 6.4e10)};
}

std::vector<ReadyGradient> traced() {
  std::vector<ReadyGradient> gradients;
  Seconds ready;
  for (auto layer = googlenet.rbegin(); layer != googlenet.rend(); ++layer) {
    ready += Seconds(layer->backward_us * 1e-6);
    gradients.push_back({ready, Bytes(4 * layer->parameters)});
  }
  return gradients;
}

Groups one_by_one(std::span<const ReadyGradient> gradients) {
  return Groups(gradients.size(), 1);
}

/// Ready times that never fall, with ties, and sizes over several magnitudes.
std::vector<ReadyGradient> random_gradients(std::mt19937& random, std::size_t count) {
  std::uniform_real_distribution<double> uniform(0, 1);
  std::vector<ReadyGradient> gradients;
  Seconds ready;
  for (std::size_t i = 0; i < count; ++i) {
    if (uniform(random) < 0.8) ready += Seconds(uniform(random) * 1e-3);
    gradients.push_back({ready, Bytes(std::pow(10, 2 + 4 * uniform(random)))});
  }
  return gradients;
}

LinearCost random_cost(std::mt19937& random) {
  std::uniform_real_distribution<double> uniform(0, 1);
  return {Seconds(uniform(random) * 1e-3), SecondsPerByte(uniform(random) * 1e-8)};
}

/// Of all ways to cut the list.
Seconds best_of_all(std::span<const ReadyGradient> gradients, const LinearCost& cost) {
  Seconds best(1e300);
  for (std::uint32_t cuts = 0; cuts < (1U << (gradients.size() - 1)); ++cuts) {
    Groups groups{1};
    for (std::size_t i = 1; i < gradients.size(); ++i) {
      if (((cuts >> (i - 1)) & 1U) != 0) {
        groups.push_back(1);
      } else {
        ++groups.back();
      }
    }
    best = std::min(best, last_arrival(gradients, groups, cost));
  }
  return best;
}

TEST(Merging, ArrivesAsTheAuthorsTraceSays) {
  struct Expected {
    double nodes;
    double wait_free;
    double single;
    double greedy;
    std::size_t greedy_groups;
    double optimal;
    std::size_t optimal_groups;
  };
  // Milliseconds; computed independently from the trace and the cost function.
  constexpr std::array<Expected, 6> expected{{{2, 205.600, 325.575, 205.600, 33, 205.600, 33},
                                              {4, 205.824, 385.786, 205.824, 10, 205.824, 10},
                                              {8, 256.901, 416.163, 215.538, 6, 215.224, 6},
                                              {16, 318.245, 431.894, 234.325, 6, 234.261, 6},
                                              {32, 418.421, 440.846, 260.840, 5, 247.557, 5},
                                              {64, 607.516, 447.494, 380.298, 2, 265.788, 5}}};
  const std::vector<ReadyGradient> gradients = traced();
  for (const Expected& on : expected) {
    const LinearCost cost = cost_on(on.nodes);
    const auto arrival = [&](const Groups& groups) {
      return 1e3 * last_arrival(gradients, groups, cost).si();
    };
    const Groups greedy = merge_greedily(gradients, cost);
    const Groups optimal = merge_optimally(gradients, cost);
    EXPECT_NEAR(arrival(one_by_one(gradients)), on.wait_free, 1e-3) << on.nodes;
    EXPECT_NEAR(arrival({gradients.size()}), on.single, 1e-3) << on.nodes;
    EXPECT_NEAR(arrival(greedy), on.greedy, 1e-3) << on.nodes;
    EXPECT_EQ(greedy.size(), on.greedy_groups) << on.nodes;
    EXPECT_NEAR(arrival(optimal), on.optimal, 1e-3) << on.nodes;
    EXPECT_EQ(optimal.size(), on.optimal_groups) << on.nodes;
  }
}

TEST(Merging, OptimallyIsAsGoodAsTheBestOfAllWays) {
  std::mt19937 random(1);
  for (std::size_t count = 1; count <= 10; ++count) {
    for (int i = 0; i < 20; ++i) {
      const auto gradients = random_gradients(random, count);
      const LinearCost cost = random_cost(random);
      const Seconds best = best_of_all(gradients, cost);
      const Seconds found = last_arrival(gradients, merge_optimally(gradients, cost), cost);
      EXPECT_NEAR(found.si(), best.si(), 1e-12 * best.si()) << count;
    }
  }
}

TEST(Merging, NeverEndsLaterThanLessOfIt) {
  std::mt19937 random(2);
  for (std::size_t i = 0; i < 200; ++i) {
    const auto gradients = random_gradients(random, 1 + i % 60);
    const LinearCost cost = random_cost(random);
    const Groups groups = merge_greedily(gradients, cost);
    EXPECT_EQ(std::accumulate(groups.begin(), groups.end(), std::size_t{0}), gradients.size());
    const double rounding = 1 + 1e-12;
    const Seconds optimal = last_arrival(gradients, merge_optimally(gradients, cost), cost);
    const Seconds greedy = last_arrival(gradients, groups, cost);
    EXPECT_LE(optimal, rounding * greedy);
    EXPECT_LE(greedy, rounding * last_arrival(gradients, one_by_one(gradients), cost));
    EXPECT_LE(optimal, rounding * last_arrival(gradients, Groups{gradients.size()}, cost));
  }
}

TEST(Merging, ByTheRuleDoesNothingWhereAMessageCostsNoStartUp) {
  const std::vector<ReadyGradient> gradients{{1.0_us, 8_B}, {2.0_us, 8_B}, {9.0_us, 400_B}};
  const LinearCost free{Seconds(), SecondsPerByte(1e-12)};
  EXPECT_EQ(merge_greedily(gradients, free), Groups(3, 1));
  EXPECT_TRUE(merge_greedily({}, free).empty());
  EXPECT_TRUE(merge_optimally({}, free).empty());
  EXPECT_EQ(last_arrival({}, {}, free), Seconds());
}

TEST(Merging, TakesOneMessageWhereTheStartUpIsAll) {
  const std::vector<ReadyGradient> gradients{
      {1.0_us, 8_B}, {2.0_us, 8_B}, {2.0_us, 4_B}, {9.0_us, 400_B}};
  const LinearCost cost{1.0_s, SecondsPerByte(1e-12)};
  EXPECT_EQ(merge_for(Schedule::merged_greedy, gradients, cost), Groups{4});
  EXPECT_EQ(merge_for(Schedule::merged, gradients, cost), Groups{4});
  EXPECT_THROW((void)merge_for(Schedule::horovod, gradients, cost), std::logic_error);
}

TEST(Merging, OfWhatIsOutOfOrderIsACallersMistake) {
  const std::vector<ReadyGradient> gradients{{2.0_us, 8_B}, {1.0_us, 8_B}};
  const LinearCost cost{1.0_s, SecondsPerByte(1e-12)};
  EXPECT_THROW((void)merge_greedily(gradients, cost), std::logic_error);
  EXPECT_THROW((void)merge_optimally(gradients, cost), std::logic_error);
  EXPECT_THROW((void)last_arrival(gradients, Groups{3}, cost), std::logic_error);
  EXPECT_THROW((void)last_arrival(gradients, Groups{1}, cost), std::logic_error);
}

TEST(CostFit, FindsTheLineThatMessagesLieOn) {
  const std::vector<Bytes> sizes{1_KiB, 64_KiB, 1_MiB, 25_MiB};
  const LinearCost line{50.0_us, SecondsPerByte(4e-10)};
  std::vector<Seconds> times;
  for (const Bytes size : sizes) times.push_back(line(size));
  const LinearCost fit = fit_cost(sizes, times);
  EXPECT_NEAR(fit.a.si(), line.a.si(), 1e-9 * line.a.si());
  EXPECT_NEAR(fit.b.si(), line.b.si(), 1e-9 * line.b.si());
}

TEST(CostFit, IsNeverNegative) {
  // Slower in proportion the larger, and faster the larger.
  const LinearCost steep = fit_cost(std::vector{1_KiB, 2_KiB}, std::vector{1.0_us, 4.0_us});
  EXPECT_EQ(steep.a, Seconds());
  EXPECT_NEAR(steep.b.si(), 9e-6 / (5 * 1024), 1e-18);
  const LinearCost falling = fit_cost(std::vector{1_KiB, 2_KiB}, std::vector{4.0_us, 2.0_us});
  EXPECT_EQ(falling.b, SecondsPerByte());
  EXPECT_NEAR(falling.a.si(), 3e-6, 1e-18);
}

TEST(CostFit, CannotTellAStartUpFromMessagesOfOneSize) {
  const LinearCost fit = fit_cost(std::vector{1_KiB, 1_KiB}, std::vector{1.0_us, 3.0_us});
  EXPECT_EQ(fit.a, Seconds());
  EXPECT_NEAR(fit(1_KiB).si(), 2e-6, 1e-18);
  EXPECT_THROW((void)fit_cost({}, {}), std::logic_error);
  EXPECT_THROW((void)fit_cost(std::vector{0_B}, std::vector{1.0_us}), std::logic_error);
}

TEST(Fusion, PacksUpToTheThreshold) {
  const std::vector<Bytes> ready{10_B, 20_B, 30_B, 100_B, 5_B, 55_B, 1_B};
  EXPECT_EQ(fuse(ready, 60_B), (Groups{3, 1, 2, 1}));
  EXPECT_EQ(fuse(ready, 0_B), Groups(7, 1));
  EXPECT_EQ(fuse(ready, 1_KiB), Groups{7});
  EXPECT_TRUE(fuse({}, 60_B).empty());
}

TEST(MergedBuckets, HoldTheLayersOfTheirParts) {
  const std::vector<Bucket> buckets{
      {{LayerId(5)}, 7}, {{LayerId(3), LayerId(2)}, 11}, {{LayerId(1)}, 2}};
  const std::vector<Bucket> merged = merged_buckets(buckets, Groups{2, 1});
  ASSERT_EQ(merged.size(), 2U);
  EXPECT_EQ(merged[0].layers, (std::vector<LayerId>{LayerId(5), LayerId(3), LayerId(2)}));
  EXPECT_EQ(merged[0].elements, 18);
  EXPECT_EQ(merged[1].elements, 2);
  EXPECT_THROW((void)merged_buckets(buckets, Groups{2}), std::logic_error);
  EXPECT_THROW((void)merged_buckets(buckets, Groups{4}), std::logic_error);
}

TEST(Parts, CutAGradientIntoWholeElements) {
  using Sizes = std::vector<std::size_t>;
  EXPECT_EQ(part_sizes(10, 16_B), (Sizes{4, 4, 2}));
  EXPECT_EQ(part_sizes(10, 19_B), (Sizes{4, 4, 2}));
  EXPECT_EQ(part_sizes(8, 16_B), (Sizes{4, 4}));
  EXPECT_EQ(part_sizes(3, 4_B), (Sizes{1, 1, 1}));
  EXPECT_EQ(part_sizes(3, Bytes(1e300)), Sizes{3});
  EXPECT_TRUE(part_sizes(0, 16_B).empty());
  EXPECT_THROW((void)part_sizes(10, 3_B), std::logic_error);
}

TEST(Shards, GiveTheLargestToWhoHasLeast) {
  const std::vector<Bytes> messages{10_B, 100_B, 60_B, 50_B, 10_B};
  // 100 to rank 0, 60 to 1, 50 to 1, the first 10 to 0 and the last, too (110 each: the lowest).
  EXPECT_EQ(shard_owners(messages, 2), (std::vector<Rank>{0, 0, 1, 1, 0}));
  EXPECT_EQ(shard_owners(messages, 1), std::vector<Rank>(5, 0));
  EXPECT_EQ(shard_owners(std::vector{1_B}, 4), std::vector<Rank>{0});
  EXPECT_THROW((void)shard_owners(messages, 0), std::logic_error);
}

}  // namespace
}  // namespace dlscale
