#include "report/parallel/parallel_table.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/cluster/cluster.hpp"
#include "core/network/network.hpp"
#include "core/parallel/plan_text.hpp"
#include "model/memory/transformer_shape.hpp"
#include "report/answers/parallel_page.hpp"
#include "report/parallel/parallel_memory.hpp"
#include "report/parallel/pipeline_chart.hpp"
#include "tests/report/expect_well_made.hpp"
#include "tests/report/look_at.hpp"

namespace dlscale::report {
namespace {

namespace plans_of = model::parallel_time;

/// Llama 2 7B on 8 H100, by as many plans as asked for.
plans_of::ComparedPlans answered(const std::vector<std::string>& plans) {
  plans_of::ComparedPlans all;
  all.network = "llama2_7b";
  all.cluster = "dgx_h100";
  all.dtype = "bf16";
  all.file = &plans_of::parallel_times();
  all.question.shape = model::memory::transformer_shape(load_network("llama2_7b"));
  all.question.global_batch = 64;
  all.question.framework = "nanotron";
  const plans_of::ParallelHardware hardware =
      plans_of::parallel_hardware(load_cluster("dgx_h100"), 8);
  const plans_of::Setting setting = plans_of::setting_of(*all.file, all.question, hardware);
  for (const std::string& text : plans) {
    const parallel::ParallelPlan plan = parallel::parse_plan(text);
    all.rows.push_back({plan, hardware, setting,
                        plans_of::predict_plan(*all.file, all.question, hardware, setting, plan)});
  }
  return all;
}

std::string notes_of(const Table& table) {
  std::string all;
  for (const std::string& note : table.notes) all += note + "\n";
  return all;
}

TEST(ParallelTables, NamePlansThatStandSideBySide) {
  const auto plans = answered({"data=8,micro_batch=1,zero=3", "data=2,tensor=4,micro_batch=2"});
  const Document document = parallel_document(plans, {.rests_on = "data sheets"});
  expect_well_made(document);
  ASSERT_EQ(document.tables.size(), 2U);
  EXPECT_EQ(document.tables.front().columns.front().heading, "plan");
  EXPECT_EQ(document.tables.front().rows.at(1).front().text, "B");
  EXPECT_NE(notes_of(document.tables.back()).find("B: data=2,tensor=4"), std::string::npos);
  const Document alone = parallel_document(answered({"data=8,micro_batch=1,zero=3"}), {});
  expect_well_made(alone);
  EXPECT_EQ(alone.tables.front().columns.front().heading, "GPUs");
  EXPECT_NE(alone.tables.front().title.find("data=8,micro_batch=1,zero=3"), std::string::npos);
}

TEST(PipelineChart, ShowsAStepWhoseTimesAddUp) {
  const Document document = parallel_document(answered({"stages=4,data=2,micro_batch=4"}), {});
  EXPECT_FALSE(document.json.summary()()["plans"][0].contains("pipeline"));
  const Json answer = Json::parse(document.json());
  const Json& plan = answer["plans"][0];
  const Json& pipeline = plan["pipeline"];
  ASSERT_EQ(pipeline["stages"].size(), 4U);
  EXPECT_EQ(pipeline["windows_s"].size(), 1U);
  for (const Json& stage : pipeline["stages"]) {
    double all = 0;
    for (const auto& [key, value] : stage.items()) {
      if (key.ends_with("_s")) all += value.get<double>();
    }
    EXPECT_NEAR(all, plan["t_iter_s"].get<double>(), 1e-3 * all);
    double end = 0;
    for (const Json& box : stage["boxes"]) {
      EXPECT_GE(box[1].get<double>(), end * (1 - 1e-5));
      end = box[2].get<double>();
    }
    EXPECT_LE(end, plan["t_iter_s"].get<double>() * 1.001);
  }
  const auto figure = pipeline_figure(plan);
  ASSERT_TRUE(figure);
  EXPECT_EQ(figure->data.rows.size(), 4U);
  for (const char* text : {">stage 4<", ">forward<", ">backward<", ">idle "}) {
    EXPECT_NE(figure->svg.find(text), std::string::npos) << text;
  }
  EXPECT_EQ(figure->title.find("shown are"), std::string::npos);
}

TEST(PipelineChart, ShowsTheEndsAndTheMiddleOfALongStep) {
  const auto plans = answered({"stages=8,micro_batch=1"});
  const Json answer = Json::parse(parallel_document(plans, {}).json());
  const Json& plan = answer["plans"][0];
  const Json& windows = plan["pipeline"]["windows_s"];
  ASSERT_EQ(windows.size(), 3U);
  EXPECT_EQ(windows[0][0], 0);
  EXPECT_LT(windows[0][1], windows[1][0]);
  EXPECT_LT(windows[1][1], windows[2][0]);
  EXPECT_NEAR(windows[2][1].get<double>(), plan["t_iter_s"].get<double>(), 1e-3);
  std::size_t boxes = 0;
  for (const Json& stage : plan["pipeline"]["stages"]) boxes += stage["boxes"].size();
  EXPECT_GT(boxes, 200U);
  EXPECT_LT(boxes, 300U) << "240, and those that reach into a window";
  EXPECT_NE(pipeline_figure(plan)->title.find("shown are its beginning"), std::string::npos);
  const Page page = parallel_prediction_page(answer.dump(), "answer.json").page;
  EXPECT_EQ(page.figures.back().name, "pipeline");
}

TEST(PipelineChart, IsOfThePlanThatThePageDraws) {
  const auto plans = answered({"stages=4,data=2,micro_batch=4", "tensor=8,micro_batch=1,zero=1"});
  const Json answer = Json::parse(parallel_document(plans, {}).json());
  const Json& all = answer["plans"];
  for (const Json& plan : all) {
    const bool has_stages = contains(plan["plan"].get<std::string>(), "stages=4");
    const bool is_drawn = &plan == &best_plan(all) && has_stages;
    EXPECT_EQ(plan.contains("pipeline"), is_drawn) << plan["plan"];
  }
}

TEST(ParallelTables, ShowWhatAGpuLacksBehindItsEnd) {
  const auto plans = answered({"data=8,micro_batch=8"});
  const auto found = plans_of::remedies(*plans.file, plans.question, plans.rows.front().hardware,
                                        plans.rows.front().setting, plans.rows.front().asked);
  const Document memory = parallel_memory_document(plans, {found}, false);
  expect_well_made(memory);
  EXPECT_NE(notes_of(memory.tables.front()).find('|'), std::string::npos);
  EXPECT_NE(notes_of(memory.tables.front()).find("Does not fit"), std::string::npos);
  const Document fit = parallel_fit_document(plans, {found});
  expect_well_made(fit);
  EXPECT_NE(notes_of(fit.tables.front()).find("It would fit with " + found.front().change),
            std::string::npos);
}

TEST(ParallelTables, ShowAllOfACardThatIsNotFull) {
  const auto plans = answered({"data=8,micro_batch=1,zero=3,recompute=full"});
  const Document memory = parallel_memory_document(plans, {{}}, true);
  expect_well_made(memory);
  EXPECT_EQ(memory.tables.front().rows.size(), 3U);  // moments of the only stage
  EXPECT_EQ(memory.records.rows.size(), 3U);
  const std::string notes = notes_of(memory.tables.front());
  EXPECT_EQ(notes.find('|'), std::string::npos);
  EXPECT_NE(notes.find("[W"), std::string::npos);
  EXPECT_NE(notes.find("Fits surely"), std::string::npos);
}

}  // namespace
}  // namespace dlscale::report
