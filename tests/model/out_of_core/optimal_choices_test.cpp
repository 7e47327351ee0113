#include "model/memory/out_of_core/optimal_choices.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <random>
#include <vector>

#include "model/memory/out_of_core/spill_time.hpp"
#include "random_training.hpp"

namespace dlscale::model {
namespace {

using test::plain_link;
using test::random_training;

bool offers(const SpillTensor& tensor, SpillChoice choice) {
  if (choice == SpillChoice::swap) return tensor.may_move;
  return choice == SpillChoice::keep || tensor.recompute.has_value();
}

/// The least time of all choices that fit, tried one after the other.
std::optional<Seconds> brute_force(const SpilledTraining& training, const HostLink& link,
                                   Bytes budget) {
  std::optional<Seconds> best;
  std::vector<SpillChoice> choices(training.tensors.size());
  const auto from = [&](const auto& self, std::size_t index) -> void {
    if (index < choices.size()) {
      for (const SpillChoice choice :
           {SpillChoice::keep, SpillChoice::swap, SpillChoice::recompute}) {
        if (!offers(training.tensors[index], choice)) continue;
        choices[index] = choice;
        self(self, index + 1);
      }
      return;
    }
    const SpillTime time = spill_time(training, choices, link);
    if (time.peak <= budget && (!best || time.total < *best)) best = time.total;
  };
  from(from, 0);
  return best;
}

TEST(OptimalChoices, EqualBruteForceOnSmallTrainings) {
  std::mt19937 random(7);
  int solved = 0;
  int impossible = 0;
  for (int i = 0; i < 300; ++i) {
    const SpilledTraining training = random_training(random, 2 + i % 5, 1 + i % 7);
    const int parts = std::uniform_int_distribution(1, 120)(random);
    const Bytes budget = training.fixed + Bytes(parts);
    const auto best = brute_force(training, plain_link(), budget);
    const auto choices = optimal_choices(training, plain_link(), budget, parts);
    ASSERT_EQ(best.has_value(), choices.has_value()) << i;
    best ? ++solved : ++impossible;
    if (!best) continue;
    const SpillTime time = spill_time(training, *choices, plain_link());
    EXPECT_NEAR(time.total.si(), best->si(), 1e-15) << i;
    EXPECT_LE(time.peak, budget) << i;
  }
  EXPECT_GT(solved, 50);
  EXPECT_GT(impossible, 20);
}

TEST(OptimalChoices, KeepEverythingWhereItFits) {
  std::mt19937 random(8);
  const SpilledTraining training = random_training(random, 20, 30);
  const auto choices = optimal_choices(training, plain_link(), Bytes(1e6));
  ASSERT_TRUE(choices.has_value());
  const SpillTime time = spill_time(training, *choices, plain_link());
  EXPECT_NEAR(time.total.si(), training.compute().si(), 1e-15);
}

/// Rounded sizes cost little: at most a part of memory for each tensor.
TEST(OptimalChoices, NeverExceedTheBudgetInCoarseParts) {
  std::mt19937 random(9);
  for (int i = 0; i < 50; ++i) {
    const SpilledTraining training = random_training(random, 12, 18);
    const Bytes budget(80 + i * 5);
    const auto choices = optimal_choices(training, plain_link(), budget, 50);
    if (!choices) continue;
    EXPECT_LE(spill_time(training, *choices, plain_link()).peak, budget) << i;
  }
}

/// Sizes in parts then exceed every whole number.
TEST(OptimalChoices, AreNoneWhereHardlyAnythingIsLeft) {
  std::mt19937 random(10);
  const SpilledTraining training = random_training(random, 6, 8);
  const Bytes budget = training.fixed + Bytes(1e-9);
  EXPECT_FALSE(optimal_choices(training, plain_link(), budget).has_value());
}

/// Each tensor alone has three choices; all together would have 10^14.
TEST(OptimalChoices, AreFoundForLayersThatReleaseManyTensors) {
  std::mt19937 random(11);
  const SpilledTraining training = random_training(random, 3, 30);
  const Bytes budget = training.fixed + Bytes(360);
  const auto choices = optimal_choices(training, plain_link(), budget, 360);
  ASSERT_TRUE(choices.has_value());
  EXPECT_LE(spill_time(training, *choices, plain_link()).peak, budget);
}

}  // namespace
}  // namespace dlscale::model
