#include "model/parallel/answer/answered_timeline.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/cluster/cluster.hpp"
#include "core/network/network.hpp"
#include "core/parallel/plan_text.hpp"

/// Time lines of answers, by all frameworks.
namespace dlscale::model::parallel_time {
namespace {

const std::vector<std::string> frameworks{"megatron", "megatron-core", "nemo", "torchtitan", "fsdp",
                                          "nanotron", "transformers",  "jax",  "deepspeed"};

ParallelHardware of_64(const std::string& cluster) {
  return parallel_hardware(load_cluster(cluster), 64);
}
memory::TransformerShape shape(const std::string& network) {
  return memory::transformer_shape(load_network(network));
}

class RandomAnswers {
 public:
  template <class Value>
  Value any(const std::vector<Value>& values) {
    return values[random_() % values.size()];
  }
  /// An answer of 64 GPUs; throws ConfigError for plans that cannot be.
  AnsweredPlan next(const std::string& framework) {
    const ParallelHardware& hardware = any(hardware_);
    ParallelQuestion question;
    question.shape = any(shapes_);
    question.global_batch = any<int>({64, 256});
    question.framework = framework;
    parallel::ParallelPlan plan;
    plan.tensor = any<int>({1, 2, 8});
    plan.sequence_parallel = plan.tensor > 1 && any<int>({0, 1}) == 1;
    plan.stages = any<int>({1, 2, 4});
    plan.data = 64 / plan.tensor / plan.stages;
    plan.micro_batch = any<int>({1, 2, 4});
    plan.zero = any<int>({0, 1, 3});
    plan.recompute = any<parallel::Recompute>(
        {parallel::Recompute::none, parallel::Recompute::selective, parallel::Recompute::full});
    if (plan.stages > 1) plan.schedule = any<std::string>({"1f1b", "gpipe", "zero_bubble"});
    const Setting setting = setting_of(parallel_times(), question, hardware);
    return {plan, hardware, setting,
            predict_plan(parallel_times(), question, hardware, setting, plan)};
  }

 private:
  std::vector<ParallelHardware> hardware_ = {of_64("dgx_h100"), of_64("dgx_a100"),
                                             of_64("dgx_b200")};
  std::vector<memory::TransformerShape> shapes_ = {shape("llama3_8b"), shape("gpt3_13b")};
  std::mt19937 random_{34};  // NOLINT(cert-msc51-cpp): the same plans every time
};

TEST(AnsweredTimelines, EndAtTheStepWithAllFrameworks) {
  RandomAnswers random;
  std::map<std::string, int> answered;
  int waiting = 0;
  for (int i = 0; i < 900; ++i) {
    const std::string& framework = frameworks[static_cast<std::size_t>(i) % frameworks.size()];
    try {
      const AnsweredPlan row = random.next(framework);
      const ParallelTimeline line = timeline_of(row);
      const std::string what = framework + " " + parallel::to_text(row.asked);
      ++answered[framework];
      EXPECT_NEAR(line.iteration.si() / row.answer.seconds(), 1, 1e-6) << what;
      const bool waits = row.answer.waits.likely > 1;
      waiting += waits ? 1 : 0;
      for (std::size_t stage = 0; stage < line.stages.size(); ++stage) {
        Seconds before;
        for (const TimelineSpan& span : line.stages[stage]) {
          ASSERT_EQ(span.start, before) << what;
          ASSERT_GE(span.end, span.start) << what;
          before = span.end;
        }
        EXPECT_NEAR(before / line.iteration, 1, 1e-12) << what;
        const RankTimes& times = line.times[stage];
        EXPECT_NEAR(times.total() / line.iteration.si(), 1, 1e-9) << what;
        EXPECT_EQ(times[Activity::memory] > 0, waits) << what;
      }
    } catch (const ConfigError&) {
      continue;  // a plan that cannot be
    }
  }
  for (const std::string& framework : frameworks) EXPECT_GT(answered[framework], 30) << framework;
  EXPECT_GT(waiting, 5);
}

/// The waits of a stage that is never idle are what the iteration takes more.
TEST(AnsweredTimelines, WaitForMemoryBehindEachPieceOfWork) {
  ParallelTimeline line;
  line.stages = {{{Activity::forward, 0, 0, Seconds(0), Seconds(1)},
                  {Activity::drain, -1, -1, Seconds(1), Seconds(2)}}};
  line.times.resize(1);
  line.times[0][Activity::forward] = line.times[0][Activity::drain] = 1;
  line.iteration = line.pipeline = Seconds(2);
  const ParallelTimeline longer = with_memory_waits(line, 3);
  EXPECT_EQ(longer.iteration, Seconds(6));
  ASSERT_EQ(longer.stages[0].size(), 3U);
  EXPECT_EQ(longer.stages[0][0].end, Seconds(1));
  EXPECT_EQ(longer.stages[0][1].activity, Activity::memory);
  EXPECT_EQ(longer.stages[0][1].end, Seconds(3));
  EXPECT_EQ(longer.times[0][Activity::forward], 1);
  EXPECT_EQ(longer.times[0][Activity::memory], 2);
  EXPECT_EQ(longer.times[0][Activity::drain], 3);
}

}  // namespace
}  // namespace dlscale::model::parallel_time
