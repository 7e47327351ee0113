#include "model/memory/out_of_core/policies.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "model/memory/out_of_core/offloaded_update.hpp"
#include "model/memory/out_of_core/unified_memory.hpp"
#include "random_training.hpp"

namespace dlscale::model {
namespace {

using test::plain_link;
using test::random_training;

std::optional<SpillAnswer> answer_of(SpillPolicy policy, const SpilledTraining& training,
                                     const HostLink& link, Bytes budget) {
  try {
    return spilled(policy, training, link, budget);
  } catch (const ConfigError&) {
    return {};
  }
}

constexpr double rounding = 1e-15;

TEST(SpillPolicies, MoreMemoryIsNeverSlowerAndPeaksFit) {
  std::mt19937 random(1);
  for (int i = 0; i < 40; ++i) {
    const SpilledTraining training = random_training(random, 10, 14);
    double before = std::numeric_limits<double>::infinity();
    for (const int budget : {20, 45, 70, 95, 120, 160, 200, 250, 300, 360, 1000}) {
      const auto best = answer_of(SpillPolicy::optimal, training, plain_link(), Bytes(budget));
      if (!best) continue;
      EXPECT_LE(best->peak.si(), budget);
      EXPECT_LE(best->total.si(), before + rounding) << i << " with " << budget;
      EXPECT_GE(best->total.si(), training.compute().si() - rounding);
      before = best->total.si();
    }
    EXPECT_NEAR(before, training.compute().si(), rounding);
  }
}

TEST(SpillPolicies, MoreBandwidthIsNeverSlower) {
  std::mt19937 random(2);
  for (int i = 0; i < 40; ++i) {
    const SpilledTraining training = random_training(random, 10, 14);
    for (const SpillPolicy policy : all_spill_policies) {
      double before = std::numeric_limits<double>::infinity();
      for (const double rate : {0.25e9, 0.5e9, 1e9, 4e9, 64e9}) {
        const HostLink link{BytesPerSecond(rate), BytesPerSecond(rate), BytesPerSecond(0.4 * rate),
                            Seconds()};
        const auto answer = answer_of(policy, training, link, Bytes(260));
        if (!answer) continue;
        EXPECT_LE(answer->total.si(), before + rounding) << spill_policy_name(policy);
        before = answer->total.si();
      }
    }
  }
}

TEST(SpillPolicies, NoneBeatsTheOptimum) {
  std::mt19937 random(3);
  int compared = 0;
  for (int i = 0; i < 60; ++i) {
    const SpilledTraining training = random_training(random, 8, 12);
    const Bytes budget(60 + 4 * i);
    const auto best = answer_of(SpillPolicy::optimal, training, plain_link(), budget);
    for (const SpillPolicy policy : all_spill_policies) {
      const auto other = answer_of(policy, training, plain_link(), budget);
      if (!other) continue;
      ASSERT_TRUE(best.has_value()) << spill_policy_name(policy);
      EXPECT_LE(best->total, other->total) << spill_policy_name(policy);
      ++compared;
    }
  }
  EXPECT_GT(compared, 100);
}

TEST(SpillPolicies, RefuseAPeakBeyondTheMemoryInOneSentenceAndARemedy) {
  std::mt19937 random(4);
  SpilledTraining training = random_training(random, 10, 14);
  training.name = "vgg16 with 256 images";
  try {
    (void)spilled(SpillPolicy::keep, training, plain_link(), Bytes(50));
    FAIL() << "50 bytes hold everything";
  } catch (const ConfigError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("training vgg16 with 256 images needs"), std::string::npos) << text;
    EXPECT_NE(text.find("Take optimal, or a smaller batch."), std::string::npos) << text;
  }
  EXPECT_THROW((void)spilled(SpillPolicy::optimal, training, plain_link(), Bytes(12)), ConfigError);
}

/// Three layers of 10 and 20 ns, whose outputs of 30 bytes take 30 ns each way at 1 GB/s.
SpilledTraining by_hand() {
  SpilledTraining training;
  training.name = "by hand";
  for (std::size_t i = 0; i < 3; ++i) {
    training.layers.push_back({Seconds(10e-9), Seconds(20e-9), Bytes(30), Bytes(30), {}, {i}, {i}});
    training.tensors.push_back({"t", Bytes(30), i, i, i, i, true, {}, i < 2});
  }
  return training;
}

TEST(SpillTimes, FollowTheFormulasByHand) {
  const SpilledTraining training = by_hand();
  EXPECT_NEAR(training.compute().si(), 90e-9, rounding);
  // Forward 30 + 30 + 10; backward of the third beside the copy of the second, then of the first.
  const SpillAnswer one = spilled(SpillPolicy::vdnn_all, training, plain_link(), Bytes(60));
  EXPECT_NEAR(one.total.si(), (30 + 30 + 10 + 30 + 30 + 20) * 1e-9, rounding);
  EXPECT_EQ(one.peak, Bytes(60));
  EXPECT_EQ(one.to_host, Bytes(60));
  const SpillAnswer naive = spilled(SpillPolicy::naive, training, plain_link(), Bytes(60));
  EXPECT_NEAR(naive.total.si(), (90 + 120) * 1e-9, rounding);
  EXPECT_EQ(naive.peak, Bytes(30));
  const SpillAnswer kept = spilled(SpillPolicy::keep, training, plain_link(), Bytes(90));
  EXPECT_EQ(kept.peak, Bytes(90));
  EXPECT_NEAR(kept.stall.si(), 0, rounding);
  // Copies may lag by a step: the second leaves until the third forward step ends.
  const SpillTime far = spill_time(training, one.choices, plain_link(), {2});
  EXPECT_NEAR(far.total.si(), (60 + 60 + 20) * 1e-9, rounding);
}

TEST(ManagedMemory, MovesOnlyTheExcessWithAdviceAndTwiceThatWithout) {
  const SpilledTraining training = by_hand();
  // Two of three tensors fit, so that 30 bytes leave and return.
  const ManagedTime advised = managed_time(training, plain_link(), Bytes(60), ManagedUse::advised);
  EXPECT_EQ(advised.in, Bytes(30));
  EXPECT_EQ(advised.out, Bytes(30));
  const ManagedTime plain = managed_time(training, plain_link(), Bytes(60), ManagedUse::on_demand);
  EXPECT_EQ(plain.in, Bytes(60));
  EXPECT_EQ(plain.out, Bytes(60));
  EXPECT_GT(plain.total, advised.total);
  const ManagedTime enough = managed_time(training, plain_link(), Bytes(90), ManagedUse::on_demand);
  EXPECT_EQ(enough.in, Bytes());
  EXPECT_NEAR(enough.total.si(), training.compute().si(), rounding);
}

TEST(OffloadedUpdates, OverlapGradientsWithBackwardAndWeightsWithTheUpdate) {
  const SpilledTraining training = by_hand();
  const OffloadedUpdate update =
      offloaded_update(training, 10, 2, plain_link(), {BytesPerSecond(1e9)});
  // Forward 30; backward 60 beside 20 of gradients; 300 bytes updated beside 20 of weights.
  EXPECT_NEAR(update.total.si(), (30 + 60 + 300) * 1e-9, rounding);
  EXPECT_EQ(update.device, Bytes(20));
  EXPECT_EQ(update.host, Bytes(160));
}

TEST(SpillPolicies, HaveNames) {
  for (const SpillPolicy policy : all_spill_policies) {
    EXPECT_EQ(parse_spill_policy(spill_policy_name(policy)), policy);
  }
  EXPECT_THROW(parse_spill_policy("swap"), ConfigError);
}

}  // namespace
}  // namespace dlscale::model
