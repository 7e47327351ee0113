#include <gtest/gtest.h>

#include <algorithm>

#include "core/parallel/plan_text.hpp"
#include "core/parallel/schedule/family.hpp"
#include "model/parallel/answer/answer.hpp"
#include "model/parallel/pipeline/simulation.hpp"
#include "model/parallel/search/search.hpp"
#include "model/parallel/search/split.hpp"
#include "model/parallel/timeline/part_costs.hpp"
#include "tests/model/parallel/search_space.hpp"

namespace dlscale::model::parallel_search {
namespace {

/// Thousands of micro-batches, whose rounds are left out (Makespans): the best of all, each
/// simulated to its end.
TEST(ParallelSearch, FindsTheBestOfVeryManyMicroBatches) {
  const Cluster cluster = load_cluster("dgx_a100");
  for (const int stages : {4, 5}) {  // of equal layers, and of unequal ones
    SearchQuestion question = question_of("gpt2", {stages}, 8192);
    question.choices.stages = {stages};
    question.choices.micro_batch = {1, 2};
    question.choices.recompute = {parallel::Recompute::none};
    const auto hardware = parallel_time::parallel_hardware(cluster, stages);
    const auto setting =
        parallel_time::setting_of(parallel_time::parallel_times(), question.training, hardware);
    double least = 1e9;
    int tried = 0;
    for (const Pipeline& pipeline : pipelines(question, {.gpus = stages, .stages = stages})) {
      for (const int micro_batch : {1, 2}) {
        parallel::ParallelPlan plan;
        plan.stages = stages;
        plan.schedule = pipeline.schedule;
        plan.chunks = pipeline.chunks;
        plan.stage_layers = pipeline.stage_layers;
        plan.micro_batch = micro_batch;
        if (!parallel::faults(plan, stages, parallel_time::facts_of(question.training)).empty()) {
          continue;
        }
        auto answer = parallel_time::predict_plan(parallel_time::parallel_times(),
                                                  question.training, hardware, setting, plan);
        parallel_time::PlanSizes sizes = answer.sizes;
        sizes.stage_layers = plan.stage_layers;
        const auto costs = parallel_time::schedule_costs(
            setting, sizes, plan, parallel_time::iteration_time(setting, sizes));
        const auto& schedule = parallel::find_schedule(plan.schedule);
        const Seconds whole =
            simulate(schedule.schedule(parallel_time::shape_of(sizes)), costs).makespan;
        EXPECT_NEAR(answer.time.pipeline / whole.si(), 1, 1e-9) << parallel::to_text(plan);
        ++tried;
        if (answer.verdict.fits && answer.verdict.is_sure) {
          least = std::min(least, answer.seconds());
        }
      }
    }
    EXPECT_GE(tried, 6);
    const PlanSearch search = search_plans(parallel_time::parallel_times(), cluster, question, {2});
    EXPECT_GT(search.simulated, 0U);
    EXPECT_NEAR(search.best.front().answered.answer.seconds() / least, 1, 1e-9) << stages;
  }
}

}  // namespace
}  // namespace dlscale::model::parallel_search
