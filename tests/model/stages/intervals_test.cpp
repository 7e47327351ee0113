#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "core/parallel/schedule/family.hpp"
#include "model/machine/machine.hpp"
#include "model/parallel/stages/measured_stages.hpp"
#include "model/parallel/stages/slowest_copy.hpp"
#include "model/parallel/stages/staged_timeline.hpp"
#include "tests/model/stages/staged.hpp"

namespace dlscale::model {
namespace {

using test::Staged;

Staged four_stages() {
  Staged staged("resnet50", "dgx1");
  staged.plan.stages = 4;
  staged.plan.micro_batches = 8;
  return staged;
}

double log_width(const TimeFactors& factors) {
  return std::log(factors.high / factors.low);
}

TEST(StageErrorsOfPlans, AreOfWhatThePlanHas) {
  Staged staged = four_stages();
  const StagedTraining pipeline = staged.predict(64);
  ASSERT_TRUE(pipeline.errors);
  EXPECT_GT(log_width(pipeline.errors->computing), 0);
  EXPECT_EQ(log_width(pipeline.errors->exchange), 0);
  EXPECT_NEAR(log_width(pipeline.errors->pipeline), 2 * published_pipeline_error, 1e-12);
  EXPECT_GT(log_width(pipeline.errors->all()), log_width(pipeline.errors->computing));

  staged.plan.data = 2;
  const StagedTraining copies = staged.predict(128);
  EXPECT_GT(log_width(copies.errors->exchange), 0);
  EXPECT_LT(copies.speedup_low(), copies.speedup);
  EXPECT_LE(copies.speedup_high(), 8);
}

/// A measured iteration of the plan that `staged` has now, at `factor` of its prediction.
StagedPoint point_of(Staged& staged, double factor, std::int64_t global_batch = 64) {
  const StagedTraining before = staged.predict(global_batch);
  return staged_point(staged.plan, before, factor * before.total);
}

TEST(StagesAtPoints, AreMet) {
  Staged staged = four_stages();
  const StagedTraining before = staged.predict(64);
  const parallel::ParallelPlan plan = staged.plan;
  for (const double factor : {0.8, 1.3}) {
    staged.plan = plan;
    const std::array points{point_of(staged, factor)};
    StagedTraining met = before;
    meet_points(points, plan, true, met);
    EXPECT_NEAR(met.total / before.total, factor, 1e-12);
    EXPECT_NEAR(met.high() / met.total, 1.03, 1e-9);
    EXPECT_NEAR(met.images_per_s * met.total.si() / (before.images_per_s * before.total.si()), 1,
                1e-12);
    staged.plan.data = 2;
    const StagedTraining more = staged.predict(128);
    StagedTraining moved = more;
    meet_points(points, staged.plan, true, moved);
    EXPECT_NEAR(moved.total / more.total, factor, 1e-12);
    EXPECT_LT(moved.high() / moved.total, more.high() / more.total);
    EXPECT_GT(moved.high() / moved.total, met.high() / met.total);
  }
  staged.plan = plan;
  std::vector<StagedPoint> two{point_of(staged, 2)};
  staged.plan.data = 4;
  two.push_back(point_of(staged, 8, 256));
  staged.plan.data = 2;
  const StagedTraining more = staged.predict(128);
  StagedTraining between = more;
  meet_points(two, staged.plan, true, between);
  EXPECT_NEAR(between.total / more.total, 4, 1e-9);
}

/// Other plans follow a point by their likeness, and are surer for one within its interval.
TEST(StagesAtPoints, MoveAndNarrowOtherPlans) {
  Staged staged = four_stages();
  const parallel::ParallelPlan plan = staged.plan;
  for (const double factor : {0.9, 0.97, 1.03, 1.1, 1.2}) {
    staged.plan = plan;
    const std::array points{point_of(staged, factor)};
    ASSERT_LE(points.front().surprise, 1) << factor;
    const auto followed = [&] {
      const StagedTraining cold = staged.predict(64);
      StagedTraining warm = cold;
      meet_points(points, staged.plan, false, warm);
      EXPECT_LT(log_width(warm.errors->all()), log_width(cold.errors->all())) << factor;
      return std::log(warm.total / cold.total) / std::log(factor);
    };
    staged.plan.schedule = "1f1b";
    const double by_schedule = followed();
    EXPECT_GT(by_schedule, 0.5) << factor;
    EXPECT_LT(by_schedule, 1) << factor;
    staged.plan = plan;
    staged.plan.stages = 2;
    const double by_stages = followed();
    EXPECT_LT(by_stages, by_schedule) << factor;
    staged.plan.micro_batches = 4;
    const double by_both = followed();
    EXPECT_GT(by_both, 0) << factor;
    EXPECT_LT(by_both, by_stages) << factor;
  }
  staged.plan = plan;
  const std::array exact{point_of(staged, 1)};
  staged.plan.stages = 2;
  const StagedTraining other = staged.predict(64);
  StagedTraining same = other;
  meet_points(exact, staged.plan, false, same);
  EXPECT_NEAR(same.total / other.total, 1, 1e-9);
}

/// A slow or quick iteration of one plan says the same of its like.
TEST(StagesAtPoints, KeepTheOrderOfPlans) {
  Staged staged = four_stages();
  for (const double factor : {0.8, 1.2}) {
    staged.plan.schedule = "gpipe";
    const std::array points{point_of(staged, factor)};
    StagedTraining measured = staged.predict(64);
    meet_points(points, staged.plan, true, measured);
    staged.plan.schedule = "basic";
    StagedTraining other = staged.predict(64);
    meet_points(points, staged.plan, false, other);
    EXPECT_GT(other.total, measured.total) << factor;
  }
}

/// A point far outside of its interval refutes the model, and widens those of other plans. They
/// widen without a jump where the point leaves its interval.
TEST(StagesAtPoints, WidenOtherPlansByTheirSurprise) {
  Staged staged = four_stages();
  const parallel::ParallelPlan plan = staged.plan;
  const TimeFactors interval = staged.predict(64).errors->all();
  staged.plan.data = 2;
  staged.plan.schedule = "1f1b";
  const parallel::ParallelPlan asked = staged.plan;
  const StagedTraining other = staged.predict(128);
  const auto width_at = [&](double factor) {
    staged.plan = plan;
    const std::array points{point_of(staged, factor)};
    StagedTraining moved = other;
    meet_points(points, asked, false, moved);
    return log_width(moved.errors->all());
  };
  const double cold = log_width(other.errors->all());
  EXPECT_GT(width_at(0.02), cold);
  EXPECT_GT(width_at(50), cold);
  for (const double limit : {interval.low, interval.high}) {
    const double within = width_at(std::pow(limit, 0.9999));
    EXPECT_NEAR(width_at(std::pow(limit, 1.0001)) / within, 1, 1e-3) << limit;
    EXPECT_LT(within, cold) << limit;
    EXPECT_GT(width_at(std::pow(limit, 1.5)), within) << limit;
  }
}

/// However a plan is written, it is one training.
TEST(StagesAtPoints, KnowTheirPlanByItsNumbers) {
  Staged staged = four_stages();
  const parallel::ParallelPlan plan = staged.plan;
  const StagedTraining training = staged.predict(64);
  const auto is_same = [&](const parallel::ParallelPlan& other) {
    staged.plan = other;
    return is_same_training(plan, training, other, staged.predict(64));
  };
  parallel::ParallelPlan same = plan;
  EXPECT_TRUE(is_same(same));
  same.stage_layers = training.layers;
  EXPECT_TRUE(is_same(same));
  same.micro_batches.reset();
  same.micro_batch = training.micro_batch;
  EXPECT_TRUE(is_same(same));
  parallel::ParallelPlan other = plan;
  other.micro_batches = 4;
  EXPECT_FALSE(is_same(other));
  other = plan;
  other.schedule = "1f1b";
  EXPECT_FALSE(is_same(other));
  other = plan;
  other.stage_layers = training.layers;
  --other.stage_layers[0];
  ++other.stage_layers[1];
  EXPECT_FALSE(is_same(other));
}

/// Spans follow one another without gaps, to the end of the pipeline.
TEST(StagedTimelines, FillTheIteration) {
  Staged staged = four_stages();
  staged.plan.data = 2;
  for (const char* schedule : {"gpipe", "1f1b", "basic", "zero_bubble", "gems_master"}) {
    staged.plan.schedule = schedule;
    const StagedTraining training = staged.predict(64);
    const parallel_time::ParallelTimeline line = staged_timeline(training, staged.plan);
    ASSERT_EQ(line.stages.size(), 4U);
    EXPECT_NEAR(line.iteration / training.pipeline.makespan, 1, 1e-12);
    for (std::size_t stage = 0; stage < 4; ++stage) {
      Seconds now;
      for (const parallel_time::TimelineSpan& span : line.stages[stage]) {
        EXPECT_EQ(span.start, now) << schedule;
        EXPECT_GT(span.end, span.start);
        now = span.end;
      }
      EXPECT_NEAR(now / line.iteration, 1, 1e-12) << schedule;
      EXPECT_NEAR(line.times[stage].total() / line.iteration.si(), 1, 1e-9);
    }
  }
}

/// A core has its share of a socket, however many of its neighbours compute.
TEST(CoresAsStages, HaveTheirShareOfASocket) {
  Staged staged("resnet110_v2", "frontera");
  const Seconds socket = staged.predict(8).parts.computing;
  staged.run.ranks_per_node = 56;
  EXPECT_NEAR(staged.predict(8).parts.computing / socket, 28, 0.01);
}

/// A pipeline too long for a simulation a device, beside one that is not.
TEST(SlowestCopies, OfManyMicroBatchesNeedFewSimulated) {
  Staged staged("resnet50", "v100x16_ib100");
  staged.plan.stages = 40;
  staged.plan.data = 8;
  staged.run.ranks = 320;
  PipelineCosts costs;
  for (int stage = 0; stage < 40; ++stage) {
    costs.forward.emplace_back(1.0 + 0.01 * (stage % 7));
    costs.backward.emplace_back(2.0 + 0.02 * (stage % 5));
    if (stage > 0) costs.boundary.emplace_back(0.1);
  }
  const Machine machine = nominal_machine(staged.cluster);
  const auto slowest = [&](int micro_batches) {
    return slowest_copy(staged.network, machine, staged.run, staged.plan,
                        parallel::find_schedule("1f1b"), {40, 1, micro_batches}, costs);
  };
  const double all = slowest(1500);
  EXPECT_GT(all, 1);
  EXPECT_NEAR((slowest(25'000) - 1) / (all - 1), 1, 0.03);
}

}  // namespace
}  // namespace dlscale::model
