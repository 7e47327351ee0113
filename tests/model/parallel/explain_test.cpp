#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "core/cluster/cluster.hpp"
#include "core/parallel/plan_text.hpp"
#include "model/parallel/explain/group_links.hpp"
#include "model/parallel/explain/improvements.hpp"
#include "model/parallel/explain/step_losses.hpp"
#include "model/parallel/timeline/part_costs.hpp"
#include "tests/model/parallel/question_of_8b.hpp"
#include "tests/model/parallel/random_plan.hpp"

/// Explanations of predicted plans.
namespace dlscale::model::parallel_time {
namespace {

TEST(StepLosses, AddUpToTheIteration) {
  RandomTrainings random(60);
  for (int i = 0; i < 1000; ++i) {
    const PlannedQuestion of = random_plan(random);
    ParallelAnswer answer;
    answer.plan = of.plan;
    answer.sizes = of.question.plan;
    answer.time = plan_time(of.setting(), of.sizes(), of.plan);
    double sum = 0;
    for (const StepPart& part : step_losses(of.setting(), answer)) {
      EXPECT_GT(part.seconds, 0) << part.name << ": " << of.text();
      sum += part.seconds;
    }
    EXPECT_NEAR(sum, answer.seconds(), 2e-5 * answer.seconds()) << of.text();
  }
}

/// A measured factor makes all parts as much longer, and adds none.
TEST(StepLosses, AreTheSameSharesAtAMeasuredPoint) {
  RandomTrainings random(61);
  for (int i = 0; i < 200; ++i) {
    const PlannedQuestion of = random_plan(random);
    Setting setting = of.setting();
    ParallelAnswer answer;
    answer.plan = of.plan;
    answer.sizes = of.question.plan;
    answer.time = plan_time(setting, of.sizes(), of.plan);
    const std::vector<StepPart> plain = step_losses(setting, answer);
    setting.measured_factor = 1.3;
    answer.time = stretched(answer.time, 1.3);
    const std::vector<StepPart> longer = step_losses(setting, answer);
    ASSERT_EQ(longer.size(), plain.size()) << of.text();
    for (std::size_t part = 0; part < plain.size(); ++part) {
      EXPECT_EQ(longer[part].name, plain[part].name) << of.text();
      EXPECT_NEAR(longer[part].seconds, 1.3 * plain[part].seconds, 1e-6 * answer.time.total)
          << plain[part].name << ": " << of.text();
    }
  }
}

class OnDgx : public testing::Test {
 protected:
  static ParallelQuestion asked() {
    ParallelQuestion question = question_of_8b(8192, 64);
    question.framework = "nanotron";
    return question;
  }
  ParallelAnswer answer(const std::string& text) {
    plan = parallel::parse_plan(text);
    return predict_plan(file, question, hardware, setting, plan);
  }
  std::vector<Improvement> changes(const std::string& text) {
    const ParallelAnswer now = answer(text);
    return improvements(file, question, hardware, setting, plan, now);
  }
  static bool has(const std::vector<Improvement>& all, std::string_view change) {
    for (const Improvement& one : all) {
      if (one.change == change) return true;
    }
    return false;
  }

  const ParallelTimeFile& file = parallel_times();
  ParallelQuestion question = asked();
  ParallelHardware hardware = parallel_hardware(load_cluster("dgx_h100"), 64);
  Setting setting = setting_of(file, question, hardware);
  parallel::ParallelPlan plan;
};

TEST_F(OnDgx, ImprovementsFitAndGain) {
  const auto all = changes("data=2,tensor=8,stages=4,micro_batch=1,recompute=full");
  ASSERT_FALSE(all.empty());
  double before = 1e9;
  for (const Improvement& one : all) {
    EXPECT_GT(one.gain, 0.01) << one.change;
    EXPECT_LE(one.gain, before) << one.change;
    EXPECT_TRUE(one.answer.verdict.fits) << one.change;
    before = one.gain;
  }
  EXPECT_TRUE(has(all, "no recomputation"));
  EXPECT_TRUE(has(all, "half the tensor ranks, with twice the replicas"));
}

TEST_F(OnDgx, ImprovementsAreOnlyOfWhatTheStepConsistsOf) {
  const auto all = changes("data=64,micro_batch=1,zero=3");
  EXPECT_FALSE(has(all, "no recomputation"));
  EXPECT_FALSE(has(all, "twice the chunks of a stage, interleaved"));
  EXPECT_FALSE(has(all, "sequence parallelism"));
}

/// What an improvement promises is what its plan is predicted to do.
TEST_F(OnDgx, AnImprovedPlanIsPredictedAlike) {
  const std::string text = "data=2,tensor=8,stages=4,micro_batch=1,recompute=full";
  const double now = answer(text).seconds();
  for (const Improvement& one : changes(text)) {
    if (one.change != "no recomputation") continue;
    EXPECT_EQ(one.plan, "recompute=none");
    EXPECT_NEAR(now / answer("data=2,tensor=8,stages=4,micro_batch=1").seconds() - 1, one.gain,
                1e-12);
  }
}

TEST_F(OnDgx, CompilingIsAnImprovementWhereTheFrameworkDoesItOnRequest) {
  const std::string text = "data=64,micro_batch=1,zero=3";
  EXPECT_FALSE(has(changes(text), "steps compiled"));
  question.framework = "torchtitan";
  setting = setting_of(file, question, hardware);
  const double eager = answer(text).seconds();
  const double compiled = answer(text + ",compile=true").seconds();
  EXPECT_FALSE(has(changes(text + ",compile=true"), "steps compiled"));
  const auto all = changes(text);
  ASSERT_TRUE(has(all, "steps compiled"));
  for (const Improvement& one : all) {
    if (one.change != "steps compiled") continue;
    EXPECT_EQ(one.plan, "compile=true");
    EXPECT_NEAR(one.gain, eager / compiled - 1, 1e-12);
  }
}

TEST_F(OnDgx, TheUsualOrderIsAnImprovement) {
  const auto all =
      changes("data=8,tensor=8,micro_batch=1,order=data/tensor/context/branches/stages");
  EXPECT_TRUE(has(all, "tensor groups within nodes"));
}

TEST_F(OnDgx, ARefusedOrderIsNamed) {
  EXPECT_THROW(
      answer("data=4,tensor=2,context=2,stages=4,order=context/tensor/data/branches/stages"),
      ConfigError);
  const double usual = answer("data=8,tensor=8").seconds();
  EXPECT_GT(answer("data=8,tensor=8,order=data/tensor/context/branches/stages").seconds(), usual);
}

TEST(GroupLinks, SayWhichGroupsCrossNodes) {
  const auto links = group_links(parallel::parse_plan("data=4,tensor=8,stages=2"), 8);
  ASSERT_EQ(links.size(), 3U);
  EXPECT_EQ(links[0].name, "tensor");
  EXPECT_FALSE(links[0].crosses_nodes());
  EXPECT_EQ(links[1].name, "data");
  EXPECT_EQ(links[1].spread.nodes, 4);
  EXPECT_EQ(links[2].name, "stages");
  EXPECT_TRUE(links[2].crosses_nodes());
  EXPECT_TRUE(group_links(parallel::ParallelPlan(), 8).empty());
}

TEST(GroupLinks, FollowTheOrder) {
  const auto links = group_links(
      parallel::parse_plan("data=4,tensor=8,order=data/tensor/context/branches/stages"), 8);
  ASSERT_EQ(links.size(), 2U);
  EXPECT_EQ(links[0].name, "data");
  EXPECT_FALSE(links[0].crosses_nodes());
  EXPECT_TRUE(links[1].crosses_nodes());
}

}  // namespace
}  // namespace dlscale::model::parallel_time
