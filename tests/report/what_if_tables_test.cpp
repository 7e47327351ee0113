// Tables of explanations and of times to train, and time lines.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "report/prediction/explanation_table.hpp"
#include "report/prediction/prediction_trace.hpp"
#include "report/prediction/training_time_table.hpp"
#include "tests/report/look_at.hpp"
#include "tests/report/records_declared.hpp"
#include "tests/report/samples.hpp"
#include "tests/report/series_of.hpp"

namespace dlscale::report {
namespace {

using ParsedJson = nlohmann::json;

void expect_sound(const Document& document) {
  std::vector<Table> tables = document.tables;
  tables.push_back(document.records);
  for (const Table& table : tables) {
    for (const auto& row : table.rows) EXPECT_EQ(row.size(), table.columns.size()) << table.title;
  }
  expect_declared(document);
  EXPECT_TRUE(ParsedJson::accept(document.json()));
}

model::Prediction on_two_ranks() {
  Run run;
  run.network = "alexnet";
  run.ranks = 2;
  return samples::prediction(run, {});
}

model::Explanation explained() {
  const model::Prediction prediction = on_two_ranks();
  const Seconds total = prediction.time.total;
  return {prediction,
          {{"backward", 0.5 * total, 0.6 * total}},
          {{"device.peak", 0.95 * total, 1.06 * total}, {"host.decode", total, total}},
          {{"--fuse relu", 0.8 * total, 1.25 * prediction.images_per_s, ""},
           {"--batch 64", {}, 0, "it does not fit."}}};
}

TEST(ExplanationTables, SayWhatBoundsAndWhatHelps) {
  const model::Explanation all[] = {explained()};
  const Document document = explanation_document(all);
  expect_sound(document);
  ASSERT_EQ(document.tables.size(), 3U);
  EXPECT_EQ(cell(document.tables[0], 0, "part"), "backward");
  EXPECT_EQ(cell(document.tables[0], 0, "change"), "-40.0 %");
  ASSERT_EQ(document.tables[1].rows.size(), 1U);
  EXPECT_EQ(cell(document.tables[1], 0, "change"), "-5.0 %");
  EXPECT_EQ(cell(document.tables[1], 0, "10 % worse"), "+6.0 %");
  EXPECT_TRUE(contains(document.tables[1].notes.front(), "host.decode"));
  ASSERT_EQ(document.tables[2].rows.size(), 1U);
  EXPECT_EQ(cell(document.tables[2], 0, "gain"), "+25.0 %");
  EXPECT_TRUE(contains(document.tables[2].notes.front(), "it does not fit."));
  EXPECT_TRUE(contains(document.lead, "device.peak counts most: -5.0 %")) << document.lead;
  EXPECT_TRUE(contains(document.lead, "--fuse relu helps most: +25.0 %")) << document.lead;
  EXPECT_EQ(document.records.rows.size(), 6U);
  const ParsedJson json = ParsedJson::parse(document.json());
  EXPECT_EQ(json.at("schema"), "dlscale.explanation");
  const ParsedJson& advice = json.at("explanations").at(0).at("advice");
  EXPECT_TRUE(advice.at(0).at("why_not").is_null());
  EXPECT_TRUE(advice.at(1).at("t_iter_s").is_null());
}

TEST(TrainingTimeTables, AreEpochsOverTheRateAndWhatComesBeside) {
  const model::Prediction prediction = on_two_ranks();
  const model::Prediction all[] = {prediction};
  TrainingGoal goal;
  goal.epochs = 90;
  goal.samples = 1000;
  goal.evaluation = Seconds(2);
  goal.start = Seconds(30);
  const Document document = training_time_document(all, goal);
  expect_sound(document);
  const ParsedJson training = ParsedJson::parse(document.json()).at("trainings").at(0);
  const double batch = 2.0 * prediction.run.batch;
  const double seconds = 90 * (1000 / (batch / prediction.time.total.si()) + 2) + 30;
  EXPECT_NEAR(training.at("training_s").get<double>(), seconds, 1e-9 * seconds);
  EXPECT_LT(training.at("training_low_s").get<double>(), seconds);
  EXPECT_GT(training.at("training_high_s").get<double>(), seconds);
  EXPECT_EQ(cell(document.tables.at(0), 0, "epochs"), "90.00");
}

TEST(WhatIfTables, NameNumbersAlikeInEveryRun) {
  model::Explanation before = explained();
  model::Explanation after = before;
  after.prediction.bound = "input";
  after.prediction.time.total = 2 * before.prediction.time.total;
  after.prediction.images_per_s /= 2;
  after.parts.front().without = 0.3 * after.prediction.time.total;
  expect_same_series(explanation_document(std::span(&before, 1)),
                     explanation_document(std::span(&after, 1)));
  TrainingGoal goal;
  goal.epochs = 90;
  goal.samples = 1000;
  expect_same_series(training_time_document(std::span(&before.prediction, 1), goal),
                     training_time_document(std::span(&after.prediction, 1), goal));
}

TEST(TrainingTimeTables, SayWhereEpochsAreExtrapolated) {
  const model::Prediction all[] = {on_two_ranks()};
  TrainingGoal goal;
  goal.target = model::resnet50_imagenet;
  goal.target_name = "resnet50";
  const Document document = training_time_document(all, goal);
  expect_sound(document);
  EXPECT_TRUE(contains(cell(document.tables.at(0), 0, "epochs"), "*"));
  EXPECT_TRUE(contains(document.tables.at(0).notes.at(1), "extrapolated"));
}

TEST(PredictionTraces, AreJsonWithARowForWhatWorksBesideOthers) {
  model::IterationTrace trace;
  trace.run.network = "alex\"net\xff";
  trace.iterations = {Seconds(0.003)};
  // Thirds of a nanosecond: rounding must not let neighbours overlap.
  for (int i = 0; i < 30; ++i) {
    trace.spans.push_back({model::TraceRow::device,
                           "conv",
                           "forward",
                           Seconds(i * 1e-9 / 3 * 100),
                           Seconds(1e-9 / 3 * 100),
                           {}});
  }
  trace.spans.push_back({model::TraceRow::communication, "fc", "message", Seconds(0.001),
                         Seconds(0.002), Bytes(4096)});
  const model::IterationTrace all[] = {trace, trace};
  const ParsedJson json = ParsedJson::parse(prediction_trace(all));
  std::map<std::pair<int, int>, double> until;
  std::size_t spans = 0;
  for (const ParsedJson& event : json.at("traceEvents")) {
    if (event.at("ph") != "X") continue;
    ++spans;
    double& end = until[{event.at("pid").get<int>(), event.at("tid").get<int>()}];
    EXPECT_GE(event.at("ts").get<double>(), end - 1e-9);
    end = event.at("ts").get<double>() + event.at("dur").get<double>();
    const bool is_message = event.at("name") == "fc";
    EXPECT_EQ(event.at("args").contains("bytes"), is_message);
  }
  EXPECT_EQ(spans, 2 * trace.spans.size());
  EXPECT_EQ(until.size(), 4U);
}

}  // namespace
}  // namespace dlscale::report
