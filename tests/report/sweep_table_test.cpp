#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "report/answers/parallel_page.hpp"
#include "report/prediction/explanation_table.hpp"
#include "report/prediction/iteration_fields.hpp"
#include "report/prediction/plan_table.hpp"
#include "report/prediction/prediction_table.hpp"
#include "report/prediction/sweep_table.hpp"
#include "report/prediction/training_time_table.hpp"
#include "tests/report/expect_well_made.hpp"
#include "tests/report/look_at.hpp"
#include "tests/report/samples.hpp"
#include "tests/report/series_of.hpp"

namespace dlscale::report {
namespace {

// Documents of sweeps.

using ParsedJson = nlohmann::json;

SweepRow sample(int ranks, int batch, double seconds) {
  Run run;
  run.network = "alexnet";
  run.cluster = "some";
  run.ranks = ranks;
  run.batch = batch;
  SweepRow row{samples::prediction(run, {})};
  row.prediction.time.total = Seconds(seconds);
  row.prediction.images_per_s = ranks * batch / seconds;
  return row;
}

TEST(SweepTable, MarksTheBest) {
  // 1 rank: 8 and 10 images a second; 2 ranks: 20 twice, and 15.
  const std::vector<SweepRow> rows{sample(1, 8, 1), sample(1, 10, 1), sample(2, 10, 1),
                                   sample(2, 20, 2), sample(2, 15, 2)};
  using enum SweepMark;
  EXPECT_EQ(best_rows(rows), (std::vector<SweepMark>{none, of_its_ranks, of_all, none, none}));
  EXPECT_TRUE(best_rows({}).empty());
}

TEST(SweepTable, ComparesRowsOverTheSameLink) {
  std::vector<SweepRow> rows{sample(2, 8, 1), sample(2, 8, 2), sample(2, 8, 3)};
  LinkSpec slow;
  slow.bandwidth = BytesPerSecond(1e9);
  rows[1].link = rows[2].link = slow;
  using enum SweepMark;
  EXPECT_EQ(best_rows(rows), (std::vector<SweepMark>{of_all, of_its_ranks, none}));
  const Document document = sweep_document({rows, {}});
  expect_well_made(document);
  EXPECT_EQ(document.tables.front().rows[1][3].text, "1.00 GB/s");
  EXPECT_EQ(document.tables.front().rows[0][3].text, "–");
  const ParsedJson json = ParsedJson::parse(document.json());
  EXPECT_EQ(json["schema"], "dlscale.sweep");
  EXPECT_TRUE(json["rows"][0]["inter_node"].is_null());
  EXPECT_EQ(json["rows"][1]["inter_node"]["bandwidth_bytes_per_s"], 1e9);
  EXPECT_EQ(json["rows"][0]["best"], "all");
  EXPECT_EQ(json["rows"][1]["best"], "ranks");
  EXPECT_TRUE(json["rows"][2]["best"].is_null());
}

TEST(SweepTable, SaysWhatWasLeftOut) {
  Sweep sweep{{sample(1, 8, 1)}, {}};
  for (int i = 0; i < 12; ++i) sweep.left_out.push_back("batch " + std::to_string(i));
  const Document document = sweep_document(sweep);
  expect_well_made(document);
  const auto& notes = document.tables.front().notes;
  const auto told = std::ranges::count_if(
      notes, [](const std::string& note) { return note.starts_with("left out: "); });
  EXPECT_EQ(told, 11);
  EXPECT_NE(std::ranges::find(notes, "left out: 2 more (all of them in the format json)"),
            notes.end());
  EXPECT_EQ(ParsedJson::parse(document.json())["left_out"].size(), 12U);
  EXPECT_EQ(document.records.rows.front().back().text, "of all");
}

// Speed-ups and efficiencies with their intervals.

TEST(SpeedupText, ShowsHowFarTheEndsAreFromTheValue) {
  EXPECT_EQ(speedup_text(7.8, 7.59, 8.01), "7.80 ± 0.21");
  EXPECT_EQ(speedup_text(7.8, 7.38, 7.9), "7.80 +0.10 −0.42");
  EXPECT_EQ(speedup_text(128.4, 100.2, 128.5), "128 +0 −28");
  EXPECT_EQ(speedup_text(1, 1, 1), "1.00");
  EXPECT_EQ(speedup_text(4, 3.9981, 4), "4.00") << "less than the digits show";
  EXPECT_EQ(speedup_text(4, {}, {}), "4.00");
  EXPECT_EQ(efficiency_text(0.975, 0.923, 0.988), "97.5 +1.3 −5.2 %");
  EXPECT_EQ(efficiency_text(0.975, 0.963, 0.987), "97.5 ± 1.2 %");
  EXPECT_EQ(efficiency_text(1, {}, {}), "100.0 %");
}

// Documents of plans.

model::PlannedTraining training(int ranks, double hours) {
  model::PlannedTraining one;
  one.place.rank = static_cast<std::size_t>(ranks);
  one.exchange = {Schedule::bucketed, 4_MiB};
  one.ranks = ranks;
  one.batch = 32;
  one.iteration = Seconds(0.1);
  one.epochs = 90;
  one.time = Seconds(3600 * hours);
  one.rank_hours = ranks * hours;
  one.cost = 2 * one.rank_hours;
  one.images_per_s = 320.0 * ranks;
  one.efficiency = 0.9;
  return one;
}

model::TrainingPlan sample_plan() {
  model::TrainingPlan plan;
  plan.question.length = {90, 1e6};
  plan.question.price = 2;
  plan.question.limits.time = Seconds(3600 * 50);
  plan.run.network = "alexnet";
  plan.run.cluster = "some";
  plan.best = {{training(8, 2), training(8, 2), "compute", {model::remark("a note")}},
               {training(4, 3), training(4, 3.3), "communication", {model::remark("a note")}}};
  for (int i = 0; i < 40; ++i) plan.front.push_back(training(41 - i, 2 + i));
  plan.neighbours = {{"ranks 4 instead of 8", training(4, 3), true},
                     {"batch 64 instead of 32", training(8, 200), false}};
  plan.configurations = 1000;
  plan.within_limits = 400;
  plan.by_form = 1000;
  plan.left_out = {"batch 512: needs much"};
  return plan;
}

TEST(PlanTable, TellsTheBestTheFrontAndTheNeighbours) {
  const Document document = plan_document(sample_plan());
  expect_well_made(document);
  ASSERT_EQ(document.tables.size(), 3U);
  const Table& best = document.tables[0];
  EXPECT_EQ(best.rows.size(), 2U);
  EXPECT_EQ(best.rows[0][14].text, "the same");
  EXPECT_TRUE(says(best, "1000 configurations, 400 within the limits (time 50 h)"));
  EXPECT_TRUE(says(best, "left out for memory: batch 512"));
  EXPECT_TRUE(says(best, "as many epochs whatever the batch"));
  EXPECT_EQ(std::ranges::count(best.notes, "a note"), 1);
  const Table& front = document.tables[1];
  EXPECT_GE(front.rows.size(), 8U);
  EXPECT_LE(front.rows.size(), 13U);
  EXPECT_EQ(front.rows.front()[0].text, "41");
  EXPECT_EQ(front.rows.back()[0].text, "2");
  EXPECT_EQ(document.tables[2].rows[1].back().text, "missed");
  EXPECT_EQ(document.records.rows.size(), 2U + 40U + 2U);
}

/// The iterations differ by 10 %, and so the document says which counts.
TEST(PlanTable, SaysWhereClosedFormAndSimulationDiffer) {
  model::TrainingPlan plan = sample_plan();
  plan.best[1].planned.iteration = Seconds(0.09);
  const Document document = plan_document(plan);
  EXPECT_EQ(document.tables[0].rows[1][14].text, "-10.0 %");
  EXPECT_TRUE(
      says(document.tables[0], "differ by 10 % at most: the order is that of the simulation"));
  const ParsedJson json = ParsedJson::parse(document.json());
  EXPECT_EQ(json["best"][1]["closed_form_t_iter_s"], 0.09);
  EXPECT_EQ(json["best"][1]["t_iter_s"], 0.1);
}

TEST(PlanTable, SaysNothingOfAClosedFormWhereThereIsNone) {
  model::TrainingPlan plan = sample_plan();
  for (model::CheckedTraining& one : plan.best) one.planned.by_form = false;
  plan.why_simulated = {"threads share processor cores"};
  plan.neighbours[0].planned = plan.best[0].planned;
  const Document document = plan_document(plan);
  EXPECT_EQ(document.tables[0].rows[0][14].text, "–");
  const auto& notes = document.tables[0].notes;
  EXPECT_FALSE(says(document.tables[0], "closed form and simulation"));
  EXPECT_NE(std::ranges::find(notes, "simulated: threads share processor cores"), notes.end());
  EXPECT_EQ(document.tables[2].rows[0][2].text, "the same");
  const ParsedJson json = ParsedJson::parse(document.json());
  EXPECT_TRUE(json["best"][0]["closed_form_t_iter_s"].is_null());
}

TEST(PlanTable, TellsIntervalsAndWhereInThemLimitsAreKept) {
  model::TrainingPlan plan = sample_plan();
  model::PlannedTraining& one = plan.best[0].simulated;
  one.interval = {Seconds(0.09), Seconds(0.25)};
  one.kept = model::LimitsKept::as_predicted;
  const Document document = plan_document(plan);
  const std::vector<Cell>& row = document.tables[0].rows[0];
  EXPECT_EQ(row[5].text, "90.00 to 250.0");
  EXPECT_EQ(row[10].text, "108 min to 5 h");
  EXPECT_EQ(row[13].text, "as predicted");
  EXPECT_EQ(document.tables[0].rows[1][13].text, "–");
  const ParsedJson json = ParsedJson::parse(document.json());
  EXPECT_EQ(json["interval"], 0.9);
  EXPECT_EQ(json["best"][0]["t_iter_low_s"], 0.09);
  EXPECT_EQ(json["best"][0]["limits_kept"], "as predicted");
  EXPECT_TRUE(json["front"][0]["t_iter_high_s"].is_null());
}

TEST(PlanTable, HasNoCostWithoutAPrice) {
  model::TrainingPlan plan = sample_plan();
  plan.question.price.reset();
  const Document document = plan_document(plan);
  expect_well_made(document);
  EXPECT_FALSE(contains(document.lead, ", for "));
  const ParsedJson json = ParsedJson::parse(document.json());
  EXPECT_EQ(json["schema"], "dlscale.plan");
  EXPECT_TRUE(json["best"][0]["cost"].is_null());
  EXPECT_TRUE(json["question"]["budget"].is_null());
  EXPECT_EQ(json["best"][0]["bucket_bytes"], 4.0 * 1024 * 1024);
}

// Tables of explanations and of times to train, and time lines.

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
          {{"fuse", "relu", 0.8 * total, 1.25 * prediction.images_per_s, ""},
           {"batch", "64", {}, 0, "it does not fit."}}};
}

TEST(ExplanationTables, SayWhatBoundsAndWhatHelps) {
  const model::Explanation all[] = {explained()};
  const Document document = explanation_document(all);
  expect_well_made(document);
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
  const std::string verdict = explanation_opening(document.json.summary()()).verdict;
  EXPECT_EQ(verdict.find("Most helps: fuse relu, +25.0 % samples a second. Now "), 0U) << verdict;
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
  expect_well_made(document);
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
  expect_well_made(document);
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
  const ParsedJson json = ParsedJson::parse(prediction_trace(all, "images"));
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
