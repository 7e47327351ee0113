#include "report/parallel_explain/parallel_explanation.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "core/cluster/cluster.hpp"
#include "core/parallel/plan_text.hpp"
#include "model/parallel/answer/fit_chance.hpp"
#include "model/parallel/timeline/part_costs.hpp"
#include "report/answers/parallel_page.hpp"
#include "report/parallel_explain/parallel_trace.hpp"
#include "tests/model/parallel/question_of_8b.hpp"
#include "tests/report/look_at.hpp"
#include "tests/report/records_declared.hpp"

namespace dlscale::report {
namespace {

using namespace model::parallel_time;
using ParsedJson = nlohmann::json;

/// A transformer on 32 GPUs in a pipeline.
struct Explained {
  explicit Explained(const std::string& text, std::int64_t global_batch = 64) {
    question = question_of_8b(4096, global_batch);
    const auto hardware = parallel_hardware(load_cluster("dgx_h100"), 32);
    setting.emplace(setting_of(parallel_times(), question, hardware));
    plan = parallel::parse_plan(text);
    answer = predict_plan(parallel_times(), question, hardware, *setting, plan);
    explanation = {
        .network = "a network",
        .cluster = "dgx_h100",
        .plan = text,
        .gpus = 32,
        .answer = answer,
        .parts = step_losses(*setting, answer),
        .device_bytes = hardware.memory,
        .improvements = improvements(parallel_times(), question, hardware, *setting, plan, answer),
        .groups = group_links(plan, 8),
        .near_link = "NVLink",
        .far_link = "InfiniBand"};
    explanation.timeline = parallel_timeline(*setting, answer.sizes, plan);
  }
  [[nodiscard]] std::string trace(std::size_t most_events = 100'000) const {
    const std::vector<TracedPlan> traced{{"a network", shape_of(answer.sizes),
                                          *explanation.timeline, Seconds(answer.seconds()),
                                          most_events}};
    return parallel_trace(traced);
  }

  ParallelQuestion question;
  std::optional<Setting> setting;
  parallel::ParallelPlan plan;
  ParallelAnswer answer;
  ParallelExplanation explanation;
};

std::string verdict_of(const Document& document) {
  return explanation_opening(Json::parse(document.json())).verdict;
}

TEST(ParallelExplanation, SaysWhatTheStepConsistsOf) {
  const Explained explained("data=1,tensor=8,stages=4,micro_batch=1");
  const std::vector<ParallelExplanation> all{explained.explanation};
  const Document document = parallel_explanation_document(all);
  expect_declared(document);
  const std::string verdict = verdict_of(document);
  EXPECT_TRUE(contains(verdict, " on 32 ranks with tensor 8, stages 4, bound")) << verdict;
  ASSERT_EQ(document.tables.size(), 4U);
  const Table& groups = document.tables[2];
  EXPECT_EQ(groups.rows[0][0].text, "tensor");
  EXPECT_EQ(groups.rows[0][4].text, "NVLink");
  EXPECT_EQ(groups.rows[1][4].text, "InfiniBand");
  EXPECT_EQ(document.tables[3].rows.size(), 4U);
  const ParsedJson json = ParsedJson::parse(document.json());
  EXPECT_EQ(json["schema"], "dlscale.parallel_explanation");
  double sum = 0;
  for (const auto& part : json["explanations"][0]["parts"]) sum += part["share"].get<double>();
  EXPECT_NEAR(sum, 1, 1e-4);
}

TEST(ParallelExplanation, ShowsKeysOfThePlanUnlessTheyAreLong) {
  Explained explained("data=1,tensor=8,stages=4,micro_batch=1");  // the answer's sizes refer to it
  ParallelExplanation& one = explained.explanation;
  const auto shown = [&] {
    return parallel_explanation_document(std::span(&one, 1)).tables.at(1).rows.at(0).at(0).text;
  };
  one.improvements = {{"twice the chunks", "", one.answer}};
  EXPECT_EQ(shown(), "twice the chunks");
  one.improvements.front().plan = "chunks=2";
  EXPECT_EQ(shown(), "chunks=2");
  one.improvements.front().plan = "stage_layers=7/8/8/9/7/8/8/9/7/8/8/9/7/8/8/9";
  EXPECT_EQ(shown(), "twice the chunks");
}

/// Changes carry the verdict of `predict`, and are compared with no step that could not be.
TEST(ParallelExplanation, SaysWhetherChangesFit) {
  Explained explained("data=1,tensor=8,stages=4,micro_batch=1");
  ParallelExplanation& one = explained.explanation;
  one.improvements = {{"a change", "chunks=2", one.answer, 1, 0.5}};
  const auto told = [&] { return parallel_explanation_document(std::span(&one, 1)); };
  EXPECT_EQ(told().tables.at(1).rows.at(0).back().text, "yes");
  EXPECT_EQ(verdict_of(told()).find("Most helps: a change, +50.0 % samples a second. Now "), 0U);
  one.device_bytes = fit_question(one.answer.memory, 1).need.bytes * 1.001;
  EXPECT_EQ(told().tables.at(1).rows.at(0).back().text, "unsure");
  EXPECT_TRUE(contains(verdict_of(told()), " samples a second, if it fits the memory. "));
  one.answer.verdict.fits = false;
  one.answer.verdict.margin = -12e9;
  one.answer.waits.likely = 3;
  const std::string verdict = verdict_of(told());
  EXPECT_EQ(verdict.find("Most helps: a change, "), 0U) << verdict;
  EXPECT_TRUE(contains(verdict, " an iteration, if it fits the memory. ")) << verdict;
  EXPECT_TRUE(contains(verdict, "; it does not fit: the fullest rank lacks 12.0 GB.")) << verdict;
  EXPECT_FALSE(contains(verdict, "+50.0 %")) << verdict;
  EXPECT_TRUE(
      ParsedJson::parse(told().json())["explanations"][0]["improvements"][0]["gain"].is_null());
}

TEST(ParallelTrace, HasARowForEachStage) {
  const Explained explained("data=1,tensor=8,stages=4,micro_batch=1");
  const ParsedJson json = ParsedJson::parse(explained.trace());
  int stages = 0;
  int forwards = 0;
  std::vector<double> ends(4, 0);
  for (const auto& event : json["traceEvents"]) {
    if (event["name"] == "thread_name") ++stages;
    if (event["ph"] != "X") continue;
    double& end = ends.at(event["tid"].get<std::size_t>());
    EXPECT_GE(event["ts"].get<double>(), end - 1e-6);
    end = event["ts"].get<double>() + event["dur"].get<double>();
    if (event["name"] != "forward") continue;
    ++forwards;
    EXPECT_GE(event["args"]["micro_batch"].get<int>(), 0);
    EXPECT_EQ(event["args"]["chunk"], 0);
  }
  EXPECT_EQ(stages, 4);
  EXPECT_EQ(forwards, 4 * 64);
}

TEST(ParallelTrace, SaysWhichMicroBatchesItLeavesOut) {
  const Explained explained("data=1,tensor=8,stages=4,micro_batch=1", 500);
  const std::string text = explained.trace(1'000);
  const auto lines = std::ranges::count(text, '\n');
  EXPECT_LE(lines, 1'010);  // the names of process and rows too
  EXPECT_GT(lines, 500);
  EXPECT_NE(text.find("499 shown"), std::string::npos);
}

}  // namespace
}  // namespace dlscale::report
