#include "report/score/choice_score.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

/// The loss of choosing a plan by predictions.
namespace dlscale::report {
namespace {

cases::ScalingCase plan_of(const std::string& id, int tensor, double global_batch = 64) {
  cases::ScalingCase one;
  one.id = id;
  one.set = "some";
  one.network.name = "llama";
  one.network.seq = 4096;
  one.cluster.gpu = "H100-SXM5-80GB";
  one.precision = "bf16";
  one.gpus = 16;
  one.global_batch = global_batch;
  one.run.parallel.tp = tensor;
  one.run.parallel.zero_stage = 1;
  return one;
}

JudgedCase judged(const std::string& id, double measured, double predicted) {
  JudgedCase one;
  one.id = id;
  one.unit = cases::CaseUnit::iteration_s;
  one.items = {{measured, predicted, {}, {}, {}}};
  return one;
}

TEST(ChoiceScore, IsTheMeasuredTimeOfThePlanRankedFirstOverTheBest) {
  cases::CaseFile file;
  file.trainings = {plan_of("a", 1), plan_of("b", 2), plan_of("c", 4), plan_of("alone", 2, 128)};
  const std::vector<JudgedCase> all{judged("a", 2.0, 1.5), judged("b", 2.5, 1.0),
                                    judged("c", 4.0, 3.0), judged("alone", 1.0, 9.0)};
  const std::vector<PlanChoice> choices = plan_choices(file, all);
  ASSERT_EQ(choices.size(), 1U);
  EXPECT_EQ(choices.front().plans, 3U);
  EXPECT_EQ(choices.front().chosen, "b");
  EXPECT_EQ(choices.front().best, "a");
  EXPECT_DOUBLE_EQ(choices.front().loss, 0.25);
  const std::vector<ChoiceScore> scores = choice_scores(choices);
  ASSERT_EQ(scores.size(), 1U);
  EXPECT_EQ(scores.front().right, 0U);
  EXPECT_DOUBLE_EQ(scores.front().median_loss, 0.25);
}

TEST(ChoiceScore, CountsRatesAsTheInverseOfTimes) {
  cases::CaseFile file;
  file.trainings = {plan_of("a", 1), plan_of("b", 2)};
  std::vector<JudgedCase> all{judged("a", 100, 90), judged("b", 80, 70)};
  for (JudgedCase& one : all) one.unit = cases::CaseUnit::samples_per_s;
  const std::vector<PlanChoice> choices = plan_choices(file, all);
  ASSERT_EQ(choices.size(), 1U);
  EXPECT_EQ(choices.front().chosen, "a");
  EXPECT_DOUBLE_EQ(choices.front().loss, 0);
}

}  // namespace
}  // namespace dlscale::report
