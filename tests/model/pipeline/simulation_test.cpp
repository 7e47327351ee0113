#include "model/parallel/pipeline/simulation.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "core/parallel/schedule/check_schedule.hpp"
#include "core/parallel/schedule/family.hpp"
#include "tests/core/csv_fields.hpp"
#include "tests/model/pipeline/random_pipeline.hpp"

/// Simulated pipelines, against an independent simulation and against what times must obey.
namespace dlscale::model {
namespace {

template <class Value, class Read>
std::vector<Value> split(const std::string& text, Read read) {
  std::vector<Value> values;
  std::istringstream stream(text);
  for (std::string word; stream >> word;) values.push_back(Value(read(word)));
  return values;
}

std::vector<Seconds> seconds(const std::string& text) {
  return split<Seconds>(text, [](const std::string& word) { return std::stod(word); });
}

TEST(Pipeline, TakesTheTimesOfAnIndependentSimulation) {
  std::ifstream file(DLSCALE_SOURCE_DIR "/tests/data/pipelines.csv");
  std::string line;
  int rows = 0;
  while (std::getline(file, line)) {
    if (line.starts_with('#') || line.starts_with("schedule,")) continue;
    const std::vector<std::string> fields = csv_fields(line);
    ASSERT_EQ(fields.size(), 9U) << line;
    const parallel::PipelineShape shape{std::stoi(fields[1]), std::stoi(fields[3]),
                                        std::stoi(fields[2])};
    PipelineCosts costs{seconds(fields[4]), seconds(fields[5])};
    costs.backward_weights.assign(costs.backward.size(), Seconds());
    costs.boundary.assign(costs.forward.size() - 1, Seconds(std::stod(fields[6])));
    const parallel::Schedule schedule = parallel::find_schedule(fields[0]).schedule(shape);
    const PipelineTime time = simulate(schedule, costs);
    const double expected = std::stod(fields[7]);
    EXPECT_NEAR(time.makespan.si(), expected, 1e-9 * expected) << line;
    EXPECT_EQ(time.live,
              split<int>(fields[8], [](const std::string& word) { return std::stoi(word); }))
        << line;
    ++rows;
  }
  EXPECT_EQ(rows, 82);
}

void expect_forward_in_time(const PipelineTimeline& run, const std::string& what) {
  for (const std::vector<TimedOperation>& rank : run.ranks) {
    double before = 0;
    for (const TimedOperation& operation : rank) {
      EXPECT_GE(operation.start.si(), before) << what;
      EXPECT_GE(operation.end.si(), operation.start.si()) << what;
      before = operation.end.si();
    }
    EXPECT_LE(before, run.time.makespan.si()) << what;
  }
}

TEST(Pipeline, RunsForwardInTimeOnRandomPlans) {
  std::mt19937 random(34);
  for (int i = 0; i < 1000; ++i) {
    RandomPipeline pipeline = random_pipeline(random, random_schedule(random), Parts::unequal);
    for (const Seconds forward : pipeline.costs.forward) {
      pipeline.costs.reduce.push_back(0.5 * forward);
      pipeline.costs.update.push_back(0.1 * forward);
    }
    const parallel::Schedule schedule = pipeline.schedule->schedule(pipeline.shape);
    const PipelineTimeline run = timeline(schedule, pipeline.costs);
    EXPECT_EQ(run.time.makespan, simulate(schedule, pipeline.costs).makespan) << pipeline.text();
    EXPECT_TRUE(std::isfinite(run.time.makespan.si()) && run.time.makespan > Seconds());
    EXPECT_TRUE(run.time.bubble() >= 0 && run.time.bubble() < 1) << pipeline.text();
    expect_forward_in_time(run, pipeline.text());
    for (std::size_t rank = 0; rank < run.ranks.size(); ++rank) {
      EXPECT_EQ(run.ranks[rank].size(), schedule.ranks[rank].size());
      EXPECT_LE(run.time.busy[rank], run.time.makespan * (1 + 1e-12)) << pipeline.text();
      EXPECT_GE(run.time.live[rank], 1);
    }
  }
}

TEST(Pipeline, NeverGetsFasterByASlowerPart) {
  std::mt19937 random(35);
  for (int i = 0; i < 1000; ++i) {
    const RandomPipeline pipeline =
        random_pipeline(random, random_schedule(random), Parts::unequal);
    const parallel::Schedule schedule = pipeline.schedule->schedule(pipeline.shape);
    const Seconds before = simulate(schedule, pipeline.costs).makespan;
    PipelineCosts slower = pipeline.costs;
    const std::size_t part = random() % slower.forward.size();
    (random() % 2 == 0 ? slower.forward : slower.backward)[part] += Seconds(0.3);
    EXPECT_GE(simulate(schedule, slower).makespan, before * (1 - 1e-12)) << pipeline.text();
  }
}

TEST(Pipeline, NeverGetsSlowerByAFasterLink) {
  std::mt19937 random(36);
  for (int i = 0; i < 1000; ++i) {
    const RandomPipeline pipeline =
        random_pipeline(random, random_schedule(random), Parts::unequal);
    if (pipeline.costs.boundary.empty()) continue;
    const parallel::Schedule schedule = pipeline.schedule->schedule(pipeline.shape);
    const Seconds before = simulate(schedule, pipeline.costs).makespan;
    PipelineCosts faster = pipeline.costs;
    Seconds& boundary = faster.boundary[random() % faster.boundary.size()];
    boundary = 0.5 * boundary;
    EXPECT_LE(simulate(schedule, faster).makespan, before * (1 + 1e-12)) << pipeline.text();
  }
}

/// Twice the micro-batches are two iterations without the wait between them.
TEST(Pipeline, NeverHasMoreBubbleWithTwiceTheMicroBatches) {
  std::mt19937 random(37);
  for (int i = 0; i < 1000; ++i) {
    const RandomPipeline pipeline =
        random_pipeline(random, random_schedule(random), Parts::unequal);
    parallel::PipelineShape more = pipeline.shape;
    more.micro_batches *= 2;
    if (!parallel::obstacle(*pipeline.schedule, more).empty()) continue;  // MAST has two
    const double before =
        simulate(pipeline.schedule->schedule(pipeline.shape), pipeline.costs).bubble();
    const double after = simulate(pipeline.schedule->schedule(more), pipeline.costs).bubble();
    EXPECT_LE(after, before + 1e-12) << pipeline.text();
  }
}

/// One more micro-batch, where all take the same way: messages take no time.
TEST(Pipeline, NeverHasMoreBubbleWithOneMoreMicroBatch) {
  std::mt19937 random(38);
  for (const char* const name : {"basic", "gpipe", "1f1b", "zero_bubble"}) {
    for (int i = 0; i < 200; ++i) {
      RandomPipeline pipeline =
          random_pipeline(random, parallel::find_schedule(name), Parts::equal);
      pipeline.costs.boundary.clear();
      parallel::PipelineShape more = pipeline.shape;
      ++more.micro_batches;
      const double before =
          simulate(pipeline.schedule->schedule(pipeline.shape), pipeline.costs).bubble();
      const double after = simulate(pipeline.schedule->schedule(more), pipeline.costs).bubble();
      EXPECT_LE(after, before + 1e-12) << pipeline.text();
    }
  }
}

/// A stage of 1f1b holds no more micro-batches than there are stages behind it, and itself; ZB-H1
/// holds on each what 1f1b holds on the first.
TEST(Pipeline, HoldsNoMoreThanTheScheduleAllows) {
  const PipelineCosts costs{std::vector<Seconds>(6, Seconds(1)),
                            std::vector<Seconds>(6, Seconds(2)),
                            std::vector<Seconds>(6, Seconds(1))};
  const parallel::PipelineShape shape{6, 1, 20};
  const auto live = [&](const char* name) {
    return simulate(parallel::find_schedule(name).schedule(shape), costs).live;
  };
  EXPECT_EQ(live("basic"), (std::vector{1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(live("1f1b"), (std::vector{6, 5, 4, 3, 2, 1}));
  EXPECT_EQ(live("zero_bubble"), (std::vector{6, 6, 6, 6, 6, 6}));
  EXPECT_EQ(live("gpipe"), (std::vector{20, 20, 20, 20, 20, 20}));
}

/// Sums of parts of a rank follow one another beside computing, and updates come last.
TEST(Pipeline, OverlapsReducesWithBackward) {
  const parallel::PipelineShape shape{2, 2, 2};
  PipelineCosts costs{std::vector<Seconds>(4, Seconds(1)), std::vector<Seconds>(4, Seconds(2))};
  const parallel::Schedule schedule = parallel::find_schedule("interleaved").schedule(shape);
  const Seconds computing = simulate(schedule, costs).makespan;
  costs.update.assign(4, Seconds(0.5));
  EXPECT_EQ(simulate(schedule, costs).makespan, computing + Seconds(1));
  // The last part's sum is done before the first part's backward ends.
  costs.reduce = {Seconds(), Seconds(), Seconds(), Seconds(1)};
  EXPECT_EQ(simulate(schedule, costs).makespan, computing + Seconds(1));
  costs.reduce.assign(4, Seconds(1));
  EXPECT_EQ(simulate(schedule, costs).makespan, computing + Seconds(2));
}

/// Both copies of GEMS meet in one sum.
TEST(Pipeline, WaitsForTheOtherCopy) {
  const parallel::PipelineShape shape{2, 1, 2};
  PipelineCosts costs{{Seconds(1), Seconds(1)}, {Seconds(2), Seconds(2)}};
  const parallel::Schedule schedule = parallel::find_schedule("gems_mast").schedule(shape);
  const PipelineTimeline run = timeline(schedule, costs);
  EXPECT_EQ(run.ranks[0].back().end, run.time.makespan);
  EXPECT_EQ(run.ranks[1].back().end, run.time.makespan);
}

TEST(Pipeline, RefusesListsThatWaitForEver) {
  parallel::Schedule schedule = parallel::find_schedule("gpipe").schedule({2, 1, 1});
  std::erase_if(schedule.ranks[0], [](const parallel::Operation& operation) {
    return parallel::is_send(operation.kind);
  });
  const PipelineCosts costs{{Seconds(1), Seconds(1)}, {Seconds(2), Seconds(2)}};
  EXPECT_THROW((void)simulate(schedule, costs), std::logic_error);
}

}  // namespace
}  // namespace dlscale::model
