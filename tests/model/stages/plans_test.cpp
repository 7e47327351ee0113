#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/parallel/plan_text.hpp"
#include "tests/core/support.hpp"
#include "tests/model/stages/staged.hpp"

namespace dlscale::model {
namespace {

using dlscale::test::config_error;
using dlscale::test::expect_contains;
using test::Staged;

/// How a plan for 8 devices and 64 images is refused.
std::string refusal(const char* plan, Schedule schedule = Schedule::bucketed) {
  Staged staged("resnet18", "dgx1");
  staged.run.schedule = schedule;
  const auto order = staged.plan.order;
  staged.plan = parallel::parse_plan(plan);
  staged.plan.order = order;
  return config_error([&] { (void)staged.predict(64); });
}

TEST(StagePlans, RefusesWhatDoesNotFitInASentence) {
  expect_contains(refusal("tensor=2,stages=2,data=4"), "the plan has tensor");
  expect_contains(refusal("zero=1,data=8"), "the plan has zero");
  expect_contains(refusal("stages=4,data=2,recompute=selective"), "recompute=selective");
  expect_contains(refusal("stages=200"), "are 200 parts");
  expect_contains(refusal("stages=4,data=3"), "share a global batch of 64");
  expect_contains(refusal("stages=4,data=2,micro_batches=5"), "micro_batches is 5");
  expect_contains(refusal("stages=2,stage_layers=10/20"), "stage_layers add up to 30");
  expect_contains(refusal("schedule=gems_mast,data=8,micro_batches=2"), "needs 2 stages or more");
  expect_contains(refusal("stages=4,schedule=interleaved,chunks=2,micro_batches=2"), "interleaved");
  expect_contains(refusal("stages=4,data=2", Schedule::priority), "schedule priority");
  expect_contains(refusal("stages=4,data=2", Schedule::merged), "schedule merged");
}

TEST(StagePlans, RefusesAnotherNumberOfRanks) {
  Staged staged("resnet18", "dgx1");
  staged.plan.stages = 2;
  staged.run.ranks = 8;
  expect_contains(config_error([&] {
                    (void)predict_stages(staged.network, nominal_machine(staged.cluster),
                                         staged.run, staged.plan, 64);
                  }),
                  "and there are 8 devices");
}

/// Random plans give finite times that never run backward, or a sentence.
TEST(StagePlans, RandomPlansHaveFiniteTimes) {
  std::mt19937 random(34);  // NOLINT(cert-msc51-cpp): the same plans every time
  const std::vector<std::string> schedules{"basic",       "gpipe",     "1f1b",       "interleaved",
                                           "zero_bubble", "gems_mast", "gems_master"};
  const auto any = [&](int most) {
    return 1 + static_cast<int>(random() % static_cast<unsigned>(most));
  };
  int predicted = 0;
  Staged staged("resnet18", "v100x16_ib100");
  for (int i = 0; i < 300; ++i) {
    staged.plan.stages = any(6);
    staged.plan.data = any(5);
    staged.plan.chunks = any(2);
    staged.plan.micro_batches = any(6);
    staged.plan.schedule = schedules[random() % schedules.size()];
    staged.plan.order = random() % 2 == 0 ? parallel::ParallelPlan{}.order : staged.plan.order;
    try {
      const StagedTraining training =
          staged.predict(std::int64_t{staged.plan.data} * *staged.plan.micro_batches * any(8));
      ++predicted;
      EXPECT_GT(training.total, Seconds());
      EXPECT_LT(training.low(), training.total);
      EXPECT_GT(training.high(), training.total);
      EXPECT_LE(training.speedup_low(), training.speedup);
      EXPECT_GE(training.speedup_high(), training.speedup);
      EXPECT_LE(training.speedup, staged.run.ranks * (1 + 1e-9));
      for (const Seconds time : training.costs.reduce) EXPECT_GE(time, Seconds());
      for (const PartMemory& rank : training.memory) EXPECT_GT(rank.total(), Bytes());
    } catch (const ConfigError& error) {
      EXPECT_NE(std::string(error.what()), "");
    }
  }
  EXPECT_GT(predicted, 60);
}

}  // namespace
}  // namespace dlscale::model
