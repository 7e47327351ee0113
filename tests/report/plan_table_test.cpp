// Documents of plans.
#include "report/prediction/plan_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/report/expect_well_made.hpp"

namespace dlscale::report {
namespace {

using ParsedJson = nlohmann::json;

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
  plan.best = {{training(8, 2), training(8, 2), "compute", {"a note"}},
               {training(4, 3), training(4, 3.3), "communication", {"a note"}}};
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
  EXPECT_EQ(document.lead,
            "8 ranks with 32 images each by bucketed at 4.00 MiB: 2 h, 16.00 hours of a rank, for "
            "32.00");
  ASSERT_EQ(document.tables.size(), 3U);
  const Table& best = document.tables[0];
  EXPECT_EQ(best.rows.size(), 2U);
  EXPECT_EQ(best.rows[0][14].text, "the same");
  const auto has_note = [&](const std::string& part) {
    return std::ranges::any_of(
        best.notes, [&](const std::string& note) { return note.find(part) != std::string::npos; });
  };
  EXPECT_TRUE(has_note("1000 configurations, 400 within the limits (time 50 h)"));
  EXPECT_TRUE(has_note("left out for memory: batch 512"));
  EXPECT_TRUE(has_note("as many epochs whatever the batch"));
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
  const auto& notes = document.tables[0].notes;
  EXPECT_TRUE(std::ranges::any_of(notes, [](const std::string& note) {
    return note.find("differ by 10 % at most: the order is that of the simulation") !=
           std::string::npos;
  }));
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
  EXPECT_TRUE(std::ranges::none_of(notes, [](const std::string& note) {
    return note.find("closed form and simulation") != std::string::npos;
  }));
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
  EXPECT_EQ(row[5].text, "90.00 – 250.0");
  EXPECT_EQ(row[10].text, "108 min – 5 h");
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
  EXPECT_EQ(document.lead.find(", for "), std::string::npos);
  const ParsedJson json = ParsedJson::parse(document.json());
  EXPECT_EQ(json["schema"], "dlscale.plan");
  EXPECT_TRUE(json["best"][0]["cost"].is_null());
  EXPECT_TRUE(json["question"]["budget"].is_null());
  EXPECT_EQ(json["best"][0]["bucket_bytes"], 4.0 * 1024 * 1024);
}

}  // namespace
}  // namespace dlscale::report
