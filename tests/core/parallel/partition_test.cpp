#include "core/parallel/partition.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <numeric>
#include <optional>
#include <random>
#include <utility>
#include <vector>

namespace dlscale::parallel {
namespace {

/// The slowest stage and the messages of a cut; absent if a stage does not fit.
std::optional<std::pair<double, double>> cost(const std::vector<StageLayer>& layers,
                                              const std::vector<int>& lengths,
                                              const std::optional<StageMemory>& memory) {
  double slowest = 0;
  double messages = 0;
  std::size_t at = 0;
  for (std::size_t stage = 0; stage < lengths.size(); ++stage) {
    double time = 0;
    double bytes = 0;
    for (int i = 0; i < lengths[stage]; ++i, ++at) {
      time += layers[at].time.si();
      bytes += layers[at].states.si();
      if (memory) bytes += memory->live[stage] * layers[at].activations.si();
    }
    if (memory && bytes > memory->limit.si()) return std::nullopt;
    if (at < layers.size()) messages += layers[at - 1].message.si();
    slowest = std::max(slowest, time);
  }
  return std::pair(slowest, messages);
}

/// The best of all cuts: bit i of `ends` says whether a stage ends behind layer i.
std::optional<std::pair<double, double>> best_of_all(const std::vector<StageLayer>& layers,
                                                     int stages,
                                                     const std::optional<StageMemory>& memory) {
  std::optional<std::pair<double, double>> best;
  const unsigned all = 1U << (layers.size() - 1);
  for (unsigned ends = 0; ends < all; ++ends) {
    if (std::popcount(ends) != stages - 1) continue;
    std::vector<int> lengths{1};
    for (std::size_t i = 0; i + 1 < layers.size(); ++i) {
      if ((ends >> i & 1U) != 0) lengths.push_back(0);
      ++lengths.back();
    }
    const auto found = cost(layers, lengths, memory);
    if (found && (!best || *found < *best)) best = found;
  }
  return best;
}

/// Whole numbers, whose sums are exact in any order.
std::vector<StageLayer> random_layers(std::mt19937& random, std::size_t count) {
  std::vector<StageLayer> layers;
  for (std::size_t i = 0; i < count; ++i) {
    const auto draw = [&](unsigned most) { return static_cast<double>(random() % (most + 1)); };
    layers.push_back({Seconds(draw(9)), Bytes(draw(5)), Bytes(draw(5)), Seconds(draw(6))});
  }
  return layers;
}

TEST(StageCut, IsTheBestOfAll) {
  std::mt19937 random(1);
  int impossible = 0;
  for (int i = 0; i < 3000; ++i) {
    const std::vector<StageLayer> layers = random_layers(random, 1 + random() % 9);
    const int stages = static_cast<int>(1 + random() % layers.size());
    std::optional<StageMemory> memory;
    if (random() % 2 == 0) {
      memory = StageMemory{Bytes(static_cast<double>(random() % 60)), {}};
      for (int stage = 0; stage < stages; ++stage) memory->live.push_back(stages - stage);
    }
    const auto best = best_of_all(layers, stages, memory);
    const auto found = cut_into_stages(layers, stages, memory);
    ASSERT_EQ(found.has_value(), best.has_value());
    if (!found) {
      ++impossible;
      continue;
    }
    EXPECT_EQ(std::accumulate(found->begin(), found->end(), 0), static_cast<int>(layers.size()));
    EXPECT_GE(*std::ranges::min_element(*found), 1);
    EXPECT_EQ(cost(layers, *found, memory), best);
  }
  EXPECT_GT(impossible, 100);
}

/// Llama 3 405B: 126 layers, of which the first and the last of 16 stages have one fewer, since
/// they also hold the embedding and the loss [arXiv:2407.21783, 3.3.2].
TEST(StageCut, SparesTheFirstAndTheLastStage) {
  std::vector<StageLayer> layers(128, {Seconds(1), Bytes(1), Bytes(1), Seconds(0.1)});
  const auto stages = cut_into_stages(layers, 16);
  ASSERT_TRUE(stages.has_value());
  EXPECT_EQ(*stages, std::vector<int>(16, 8));  // of which one is the embedding, and one the loss
}

TEST(StageCut, NeedsALayerForEachStage) {
  const std::vector<StageLayer> layers(3);
  EXPECT_EQ(cut_into_stages(layers, 4), std::nullopt);
  EXPECT_EQ(cut_into_stages(layers, 3), (std::vector{1, 1, 1}));
}

/// The first stage of 1F1B holds most micro-batches, so it takes fewer layers if memory is short.
TEST(StageCut, MovesLayersWhereMemoryIsShort) {
  const std::vector<StageLayer> layers(8, {Seconds(1), Bytes(), Bytes(1)});
  EXPECT_EQ(cut_into_stages(layers, 2), (std::vector{4, 4}));
  EXPECT_EQ(cut_into_stages(layers, 2, StageMemory{Bytes(6), {2, 1}}), (std::vector{3, 5}));
  EXPECT_EQ(cut_into_stages(layers, 2, StageMemory{Bytes(4), {2, 1}}), std::nullopt);
}

}  // namespace
}  // namespace dlscale::parallel
