#include "model/parallel/timeline/timeline.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "core/parallel/schedule/family.hpp"
#include "model/parallel/timeline/part_costs.hpp"
#include "tests/model/parallel/random_plan.hpp"

/// Pipelines of transformers as simulated, against the closed form and against what times must
/// obey.
namespace dlscale::model::parallel_time {
namespace {

/// The pipeline with neither tables nor messages, by parts that are alike.
double alike_seconds(const PlannedQuestion& of, IterationTime time) {
  time.embedding = 0;
  time.head = 0;
  time.stage_message = 0;
  PipelineCosts costs = pipeline_costs(part_times(of.setting(), of.sizes(), of.plan, time),
                                       of.setting(), of.sizes(), time);
  costs.reduce.clear();
  costs.update.clear();
  return simulate(parallel::find_schedule(of.plan.schedule).schedule(shape_of(of.sizes())), costs)
      .makespan.si();
}

bool has_closed_form(const parallel::ParallelPlan& plan) {
  const std::string& name = plan.schedule;
  if (plan.stages == 1) return true;
  return plan.stage_layers.empty() && (name == "gpipe" || name == "1f1b" || name == "interleaved");
}

TEST(ParallelTimeline, TakesTheClosedFormWhereStagesAreAlikeAndMessagesAreFree) {
  RandomTrainings random(40);
  int compared = 0;
  for (int i = 0; i < 2000; ++i) {
    const PlannedQuestion of = random_plan(random);
    if (!has_closed_form(of.plan)) continue;
    const PlanSizes sizes = of.sizes();
    const IterationTime time = iteration_time(of.setting(), sizes);
    const double stage =
        static_cast<double>(of.question.shape.layers) / sizes.stages * time.layer.layer.total();
    const double expected = sizes.micro_batches * stage + (sizes.stages - 1) * stage / sizes.chunks;
    EXPECT_NEAR(alike_seconds(of, time), expected, rounding * expected) << of.text();
    ++compared;
  }
  EXPECT_GT(compared, 500);
}

/// The bubble of v chunks is 1/v of that of one, where 1f1b and interleaved both run.
TEST(ParallelTimeline, InterleavesBubblesInProportion) {
  RandomTrainings random(41);
  int compared = 0;
  for (int i = 0; i < 2000; ++i) {
    PlannedQuestion of = random_plan(random);
    if (of.plan.schedule != "interleaved" || !of.plan.stage_layers.empty()) continue;
    const IterationTime time = iteration_time(of.setting(), of.sizes());
    const double work = of.question.plan.micro_batches *
                        static_cast<double>(of.question.shape.layers) / of.plan.stages *
                        time.layer.layer.total();
    const double chunks = of.plan.chunks;
    const double interleaved = alike_seconds(of, time) - work;
    of.plan.schedule = "1f1b";
    of.plan.chunks = 1;
    of.question.plan.chunks = 1;
    EXPECT_NEAR(interleaved, (alike_seconds(of, time) - work) / chunks, rounding * work)
        << of.text();
    ++compared;
  }
  EXPECT_GT(compared, 20);
}

double pipeline_seconds(const PlannedQuestion& of, bool has_messages = true) {
  const Setting setting = of.setting();
  IterationTime time = iteration_time(setting, of.sizes());
  if (!has_messages) time.stage_message = 0;
  return simulated_pipeline(setting, of.sizes(), of.plan, time).si();
}

/// Zero bubbles may take longer on stated stages: gradients of weights wait behind the last
/// backward, not in the waits before it. Messages of gpipe all run under computing, so that it may
/// be the quicker one with slow messages.
TEST(ParallelTimeline, OrdersSchedules) {
  RandomTrainings random(42);
  for (int i = 0; i < 1000; ++i) {
    PlannedQuestion of = random_plan(random);
    if (of.plan.chunks > 1 || of.plan.stages == 1) continue;
    const auto seconds = [&](const char* schedule, bool has_messages) {
      of.plan.schedule = schedule;
      return pipeline_seconds(of, has_messages);
    };
    if (of.plan.stage_layers.empty()) {
      EXPECT_LE(seconds("zero_bubble", true), seconds("1f1b", true) * (1 + rounding)) << of.text();
    }
    EXPECT_LE(seconds("1f1b", false), seconds("gpipe", false) * (1 + rounding)) << of.text();
  }
}

/// The closed form raises all stages to the slowest. Of m micro-batches, every p-th finds the way
/// of its messages to the last stage and back hidden. [the bound (7.6) of closed_form()]
TEST(ParallelTimeline, StaysBelowTheClosedFormOfOneForwardOneBackward) {
  RandomTrainings random(43);
  for (int i = 0; i < 2000; ++i) {
    const PlannedQuestion of = random_plan(random);
    if (of.plan.schedule != "1f1b") continue;
    const IterationTime time = iteration_time(of.setting(), of.sizes());
    const double simulated = pipeline_seconds(of);
    const double others = of.sizes().micro_batches - 1;
    const double exposed = of.sizes().stages - 1 + others - std::ceil(others / of.sizes().stages);
    const double most = time.pipeline - time.stage_messages + 2 * exposed * time.stage_message;
    EXPECT_LE(simulated, most * (1 + rounding)) << of.text();
    EXPECT_GE(simulated, of.sizes().micro_batches * time.slowest_stage * (1 - rounding));
  }
}

TEST(ParallelTimeline, HasLessBubbleWithMoreMicroBatches) {
  RandomTrainings random(44);
  for (int i = 0; i < 1000; ++i) {
    PlannedQuestion of = random_plan(random);
    if (of.plan.stages == 1) continue;
    const auto share = [&] { return pipeline_seconds(of) / of.question.plan.micro_batches; };
    const double before = share();
    of.question.plan.micro_batches *= 2;
    if (!parallel::obstacle(parallel::find_schedule(of.plan.schedule), shape_of(of.sizes()))
             .empty()) {
      continue;  // GEMS-MAST has two
    }
    EXPECT_LE(share(), before * (1 + rounding)) << of.text();
  }
}

void expect_in_order(const ParallelTimeline& line, const std::string& what) {
  for (std::size_t stage = 0; stage < line.stages.size(); ++stage) {
    Seconds before;
    for (const TimelineSpan& span : line.stages[stage]) {
      ASSERT_EQ(span.start, before) << what;
      ASSERT_GT(span.end, span.start) << what;
      before = span.end;
    }
    ASSERT_EQ(before, line.iteration) << what;
    for (const double seconds : line.times[stage].seconds) {
      ASSERT_TRUE(std::isfinite(seconds) && seconds >= 0) << what;
    }
    ASSERT_NEAR(line.times[stage].total(), line.iteration.si(), rounding * line.iteration.si());
  }
}

TEST(ParallelTimeline, RunsForwardInTimeOnRandomPlans) {
  RandomTrainings random(45);
  for (int i = 0; i < 1000; ++i) {
    const PlannedQuestion of = random_plan(random);
    const ParallelTimeline line = parallel_timeline(of.setting(), of.sizes(), of.plan);
    ASSERT_EQ(line.stages.size(), static_cast<std::size_t>(of.plan.stages));
    ASSERT_TRUE(std::isfinite(line.iteration.si()));
    ASSERT_GE(line.iteration, line.pipeline);
    expect_in_order(line, of.text());
    const IterationTime time = plan_time(of.setting(), of.sizes(), of.plan);
    ASSERT_TRUE(std::isfinite(time.total) && time.total >= time.pipeline) << of.text();
    if (is_simulated(of.sizes(), of.plan)) {
      ASSERT_EQ(Seconds(time.pipeline), line.pipeline) << of.text();
    }
  }
}

/// Exposed gradients stay exposed in the simulation, whatever chunks and copies a rank has.
TEST(ParallelTimeline, ExposesGradientsAsTheClosedFormDoes) {
  RandomTrainings random(47);
  int exposed = 0;
  for (int i = 0; i < 2000; ++i) {
    const PlannedQuestion of = random_plan(random);
    if (!of.plan.stage_layers.empty()) continue;
    const ParallelTimeline line = parallel_timeline(of.setting(), of.sizes(), of.plan);
    const IterationTime time = plan_time(of.setting(), of.sizes(), of.plan);
    const double after = time.exposed_gradients + time.update;
    const double stragglers = time.total / (time.pipeline + after);
    const double expected = stragglers * (line.pipeline.si() + after);
    EXPECT_NEAR(line.iteration.si(), expected, rounding * expected) << of.text();
    for (const RankTimes& times : line.times) {
      if (of.plan.chunks == 1) break;
      EXPECT_NEAR(times[Activity::gradients], time.exposed_gradients, rounding * expected);
      exposed += time.exposed_gradients > 0 ? 1 : 0;
    }
  }
  EXPECT_GT(exposed, 100);
}

TEST(ParallelTimeline, NamesWhatStagesWaitFor) {
  RandomTrainings random(46);
  PlannedQuestion of{random_question(random), {}};
  of.question.plan = {.stages = 4, .micro_batches = 8};
  of.question.shape.layers = 16;
  of.plan.stages = 4;
  const ParallelTimeline line = parallel_timeline(of.setting(), of.sizes(), of.plan);
  EXPECT_EQ(line.times.front()[Activity::fill], 0);
  for (std::size_t stage = 1; stage < 4; ++stage) {
    EXPECT_GT(line.times[stage][Activity::fill], line.times[stage - 1][Activity::fill]);
    EXPECT_LT(line.times[stage - 1][Activity::drain], line.times[stage][Activity::drain]);
  }
  EXPECT_GT(line.times.front()[Activity::stage_messages], 0);
  EXPECT_EQ(line.times.front()[Activity::recompute], 0);
  of.question.plan.recompute = parallel::Recompute::full;
  EXPECT_GT(parallel_timeline(of.setting(), of.sizes(), of.plan).times[0][Activity::recompute], 0);
}

}  // namespace
}  // namespace dlscale::model::parallel_time
