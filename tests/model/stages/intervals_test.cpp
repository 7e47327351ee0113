#include <gtest/gtest.h>

#include <array>
#include <cmath>
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

StagedPoint point_of(const StagedTraining& before, int ranks, double factor) {
  return staged_point(before, ranks, factor * before.total);
}

TEST(StagesAtPoints, AreMet) {
  Staged staged = four_stages();
  const StagedTraining before = staged.predict(64);
  staged.plan.data = 2;
  const StagedTraining more = staged.predict(128);
  for (const double factor : {0.8, 1.3}) {
    const std::array points{point_of(before, 4, factor)};
    StagedTraining met = before;
    meet_points(points, 4, true, met);
    EXPECT_NEAR(met.total / before.total, factor, 1e-12);
    EXPECT_NEAR(met.high() / met.total, 1.03, 1e-9);
    EXPECT_NEAR(met.speedup, before.speedup, 1e-12);
    EXPECT_NEAR(met.images_per_s * met.total.si() / (before.images_per_s * before.total.si()), 1,
                1e-12);
    StagedTraining moved = more;
    meet_points(points, 8, true, moved);
    EXPECT_NEAR(moved.total / more.total, factor, 1e-12);
    EXPECT_LT(moved.high() / moved.total, more.high() / more.total);
    EXPECT_GT(moved.high() / moved.total, met.high() / met.total);
  }
  const std::array two{point_of(before, 4, 2), point_of(before, 16, 8)};
  StagedTraining between = more;
  meet_points(two, 8, true, between);
  EXPECT_NEAR(between.total / more.total, 4, 1e-9);
}

/// Other plans follow a point that may be so by part of what it says of computing.
TEST(StagesAtPoints, MoveComputingOfOtherPlans) {
  Staged staged = four_stages();
  const StagedTraining before = staged.predict(64);
  staged.plan.stages = 2;
  const StagedTraining other = staged.predict(64);
  for (const double factor : {0.9, 0.97, 1.03, 1.1}) {
    const std::array points{point_of(before, 4, factor)};
    StagedTraining moved = other;
    meet_points(points, 2, false, moved);
    const double followed = std::log(moved.total / other.total) / std::log(factor);
    EXPECT_GT(followed, 0.05) << factor;
    EXPECT_LT(followed, 1) << factor;
    EXPECT_LT(log_width(moved.errors->all()), log_width(other.errors->all())) << factor;
    EXPECT_GT(moved.high() / moved.total, 1.03) << factor;
  }
  const std::array exact{point_of(before, 4, 1)};
  StagedTraining same = other;
  meet_points(exact, 2, false, same);
  EXPECT_NEAR(same.total / other.total, 1, 1e-9);
}

/// Kernels err otherwise with other micro-batches.
TEST(StagesAtPoints, MovePlansOfOtherMicroBatchesLess) {
  Staged staged = four_stages();
  const std::array points{point_of(staged.predict(64), 4, 1.1)};
  staged.plan.stages = 2;
  double moved_before = 0.1;
  double width_before = 0;
  for (const int micro_batches : {8, 4, 1}) {
    staged.plan.micro_batches = micro_batches;
    const StagedTraining cold = staged.predict(64);
    StagedTraining warm = cold;
    meet_points(points, 2, false, warm);
    const double moved = std::log(warm.total / cold.total) / std::log(cold.errors->computing.high);
    const double width = log_width(warm.errors->all()) / log_width(cold.errors->all());
    if (micro_batches < 8) {
      EXPECT_LT(moved, moved_before) << micro_batches;
      EXPECT_GT(width, width_before) << micro_batches;
    }
    EXPECT_GT(moved, 0) << micro_batches;
    moved_before = moved;
    width_before = width;
  }
}

/// A point outside of its interval refutes the model, and so narrows the interval of no other plan.
TEST(StagesAtPoints, NarrowNoOtherPlanWhereTheyContradict) {
  Staged staged = four_stages();
  const StagedTraining before = staged.predict(64);
  staged.plan.data = 2;
  const StagedTraining other = staged.predict(128);
  const TimeFactors interval = before.errors->all();
  for (const double factor : {0.02, 0.5, 0.99 * interval.low, 1.01 * interval.high, 2.0, 50.0}) {
    const StagedPoint contradicting = point_of(before, 4, factor);
    EXPECT_FALSE(contradicting.is_within()) << factor;
    for (const int agreeing : {0, 2, 5}) {
      std::vector<StagedPoint> points{contradicting};
      for (int i = 0; i < agreeing; ++i) points.push_back(point_of(before, 8 << i, 1));
      StagedTraining moved = other;
      meet_points(points, 8, false, moved);
      EXPECT_GE(moved.high() / moved.total, other.high() / other.total) << factor;
      EXPECT_LE(moved.low() / moved.total, other.low() / other.total) << factor;
    }
  }
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
