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

/// What a stage needs: its layers and, unlike a shorter run, what the layer before them sends.
struct Needs {
  double limit = 0;
  std::vector<double> states;       ///< by layer
  std::vector<double> activations;  ///< by layer, of a micro-batch
  std::vector<double> received;     ///< by first layer
  std::vector<int> live;            ///< by stage: micro-batches

  [[nodiscard]] double own(std::size_t stage, std::size_t first, std::size_t end) const {
    double bytes = 0;
    for (std::size_t at = first; at < end; ++at) {
      bytes += states[at] + live[stage] * activations[at];
    }
    return bytes;
  }
  [[nodiscard]] bool fit(std::size_t stage, std::size_t first, std::size_t end) const {
    return own(stage, first, end) + live[stage] * received[first] <= limit;
  }
  [[nodiscard]] StageMemory memory() const {
    return {[this](std::size_t stage, std::size_t first, std::size_t end) {
              return fit(stage, first, end);
            },
            [this](std::size_t stage, std::size_t first, std::size_t end) {
              return own(stage, first, end) > limit;
            }};
  }
};

/// The slowest stage and the messages of a cut; absent if a stage does not fit.
std::optional<std::pair<double, double>> cost(const std::vector<StageLayer>& layers,
                                              const std::vector<int>& lengths,
                                              const std::optional<Needs>& needs) {
  double slowest = 0;
  double messages = 0;
  std::size_t at = 0;
  for (std::size_t stage = 0; stage < lengths.size(); ++stage) {
    double time = 0;
    const std::size_t first = at;
    for (int i = 0; i < lengths[stage]; ++i, ++at) time += layers[at].time.si();
    if (needs && !needs->fit(stage, first, at)) return std::nullopt;
    if (at < layers.size()) messages += layers[at - 1].message.si();
    slowest = std::max(slowest, time);
  }
  return std::pair(slowest, messages);
}

/// The best of all cuts: bit i of `ends` says whether a stage ends behind layer i.
std::optional<std::pair<double, double>> best_of_all(const std::vector<StageLayer>& layers,
                                                     int stages,
                                                     const std::optional<Needs>& needs) {
  std::optional<std::pair<double, double>> best;
  const unsigned all = 1U << (layers.size() - 1);
  for (unsigned ends = 0; ends < all; ++ends) {
    if (std::popcount(ends) != stages - 1) continue;
    std::vector<int> lengths{1};
    for (std::size_t i = 0; i + 1 < layers.size(); ++i) {
      if ((ends >> i & 1U) != 0) lengths.push_back(0);
      ++lengths.back();
    }
    const auto found = cost(layers, lengths, needs);
    if (found && (!best || *found < *best)) best = found;
  }
  return best;
}

double draw(std::mt19937& random, unsigned most) {
  return static_cast<double>(random() % (most + 1));
}

/// Whole numbers, whose sums are exact in any order.
std::vector<StageLayer> random_layers(std::mt19937& random, std::size_t count) {
  std::vector<StageLayer> layers;
  for (std::size_t i = 0; i < count; ++i) {
    layers.push_back({Seconds(draw(random, 9)), Seconds(draw(random, 6))});
  }
  return layers;
}

Needs random_needs(std::mt19937& random, std::size_t layers, int stages) {
  Needs needs{.limit = draw(random, 60)};
  for (std::size_t i = 0; i < layers; ++i) {
    needs.states.push_back(draw(random, 5));
    needs.activations.push_back(draw(random, 5));
    needs.received.push_back(draw(random, 8));
  }
  for (int stage = 0; stage < stages; ++stage) needs.live.push_back(stages - stage);
  return needs;
}

TEST(StageCut, IsTheBestOfAll) {
  std::mt19937 random(1);
  int impossible = 0;
  for (int i = 0; i < 3000; ++i) {
    const std::vector<StageLayer> layers = random_layers(random, 1 + random() % 9);
    const int stages = static_cast<int>(1 + random() % layers.size());
    std::optional<Needs> needs;
    std::optional<StageMemory> memory;
    if (random() % 2 == 0) {
      needs = random_needs(random, layers.size(), stages);
      memory = needs->memory();
    }
    const auto best = best_of_all(layers, stages, needs);
    const auto found = cut_into_stages(layers, stages, memory);
    ASSERT_EQ(found.has_value(), best.has_value());
    if (!found) {
      ++impossible;
      continue;
    }
    EXPECT_EQ(std::accumulate(found->begin(), found->end(), 0), static_cast<int>(layers.size()));
    EXPECT_GE(*std::ranges::min_element(*found), 1);
    EXPECT_EQ(cost(layers, *found, needs), best);
  }
  EXPECT_GT(impossible, 100);
}

/// Llama 3 405B: 126 layers, of which the first and the last of 16 stages have one fewer, since
/// they also hold the embedding and the loss [arXiv:2407.21783, 3.3.2].
TEST(StageCut, SparesTheFirstAndTheLastStage) {
  std::vector<StageLayer> layers(128, {Seconds(1), Seconds(0.1)});
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
  const std::vector<StageLayer> layers(8, {Seconds(1)});
  const std::vector<double> none(8, 0.0);
  Needs needs{6, none, std::vector<double>(8, 1.0), none, {2, 1}};
  EXPECT_EQ(cut_into_stages(layers, 2), (std::vector{4, 4}));
  EXPECT_EQ(cut_into_stages(layers, 2, needs.memory()), (std::vector{3, 5}));
  needs.limit = 4;
  EXPECT_EQ(cut_into_stages(layers, 2, needs.memory()), std::nullopt);
}

}  // namespace
}  // namespace dlscale::parallel
