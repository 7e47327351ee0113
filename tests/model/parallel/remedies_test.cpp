#include "model/parallel/answer/remedies.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/model/parallel/asked_plan.hpp"

/// The memory of plans, and changes by which they fit.
namespace dlscale::model::parallel_time {
namespace {

/// Megatron-Core keeps copies of weights in 8 bits, unless a plan states other bytes than its own.
/// The weights of NeMo are in 8 bits themselves.
TEST(PlanMemory, HoldsCopiesOfWeightsInFewBits) {
  const auto copies = [](const char* framework, const char* precision, const char* plan) {
    cases::ScalingCase training = training_of("8B-dp8-H100-SXM5-80GB-bf16");
    training.precision = precision;
    training.run.framework = framework;
    const Asked question(training, plan);
    return memory_setup_of(question.question(), question.setting(), question.plan())
        .operand_weights;
  };
  EXPECT_EQ(copies("megatron-core", "bf16", "data=8,zero=1"), 0);
  EXPECT_EQ(copies("megatron-core", "fp8", "data=8,zero=1"), 2);
  EXPECT_EQ(copies("megatron-core", "fp8", "data=8,zero=1,weight_bytes=2"), 2);
  EXPECT_EQ(copies("megatron-core", "fp8", "data=8,zero=1,weight_bytes=4"), 0);
  EXPECT_EQ(copies("nemo", "fp8", "data=8,zero=1"), 0);
}

/// Sums up whether remedies of a plan fit surely, each as predict_plan() itself says.
std::vector<bool> are_sure(Asked asked) {
  std::vector<bool> sure;
  for (const Remedy& one : remedies(parallel_times(), asked.question(), asked.hardware(),
                                    asked.setting(), asked.plan())) {
    const memory::MemoryVerdict verdict =
        predict_plan(parallel_times(), asked.question(), asked.hardware(), asked.setting(),
                     one.answer.plan)
            .verdict;
    EXPECT_TRUE(verdict.fits) << one.change;
    EXPECT_EQ(verdict.is_sure, one.is_sure()) << one.change;
    sure.push_back(one.is_sure());
  }
  return sure;
}

/// Plans that surely fit are named alone, where there are any.
TEST(Remedies, FitSurelyIfAnyDoes) {
  int sure = 0;
  for (const char* plan : {"data=8,micro_batch=2", "data=8,micro_batch=4", "data=8,micro_batch=8",
                           "data=8,micro_batch=16", "data=4,tensor=2,micro_batch=8",
                           "data=2,stages=4,micro_batch=8"}) {
    const std::vector<bool> all = are_sure(asked({"8B-dp8-H100-SXM5-80GB-bf16", plan}));
    if (std::ranges::find(all, true) == all.end()) continue;
    EXPECT_EQ(std::ranges::find(all, false), all.end()) << plan;
    ++sure;
  }
  EXPECT_GE(sure, 4);
}

TEST(Remedies, FitAndComeQuickestFirst) {
  Asked too_much = asked({"8B-dp8-H100-SXM5-80GB-bf16", "data=8,micro_batch=16"});
  ASSERT_FALSE(too_much.answer().verdict.fits);
  const auto found = remedies(parallel_times(), too_much.question(), too_much.hardware(),
                              too_much.setting(), too_much.plan());
  ASSERT_FALSE(found.empty());
  double before = 0;
  for (const Remedy& one : found) {
    EXPECT_TRUE(one.answer.verdict.fits) << one.change;
    EXPECT_GE(one.answer.seconds(), before) << one.change;
    EXPECT_FALSE(one.change.empty());
    before = one.answer.seconds();
  }
}

/// Plans that the software does not run are none, however well they fit.
TEST(Remedies, AreOnesThatTheSoftwareRuns) {
  Asked too_much = asked({"8B-dp8-H100-SXM5-80GB-bf16", "data=8,micro_batch=16"});
  const auto found = [&](const RunsPlan& runs) {
    return remedies(parallel_times(), too_much.question(), too_much.hardware(), too_much.setting(),
                    too_much.plan(), runs);
  };
  const auto runs = [](const parallel::ParallelPlan& plan) {
    return plan.zero <= 1 && plan.sequence_parallel == (plan.tensor > 1);
  };
  const auto runs_found = [&](const Remedy& one) { return runs(one.answer.plan); };
  ASSERT_FALSE(std::ranges::all_of(found({}), runs_found));
  const auto some = found(runs);
  ASSERT_FALSE(some.empty());
  EXPECT_TRUE(std::ranges::all_of(some, runs_found));
  EXPECT_TRUE(found([](const parallel::ParallelPlan& plan) { return plan.stages == 5; }).empty());
}

}  // namespace
}  // namespace dlscale::model::parallel_time
