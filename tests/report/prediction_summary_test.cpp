#include "report/prediction/prediction_summary.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <string>
#include <vector>

#include "report/prediction/prediction_table.hpp"
#include "tests/report/look_at.hpp"
#include "tests/report/samples.hpp"

namespace dlscale::report {
namespace {

const PredictionWords words{
    .workers = "GPUs", .rests_on = "data sheets", .more = "All assumptions: --notes"};

Table summary(const std::vector<model::Prediction>& rows) {
  return prediction_summary(rows, words).tables.front();
}

double number(const Table& table, std::size_t row, const std::string& heading) {
  const std::string text = cell(table, row, heading);
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

TEST(PredictionSummary, HasPartsThatAddUpToTheStep) {
  const Table table = summary(samples::curve("alexnet"));
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    double sum = 0;
    for (const char* part : {"compute", "exposed comm", "input"}) sum += number(table, row, part);
    EXPECT_NEAR(sum, number(table, row, "step ms"), 0.1);
  }
}

TEST(PredictionSummary, ShowsSomeRowsOfManyOnATerminal) {
  std::vector<model::Prediction> rows(41, samples::curve("alexnet").front());
  EXPECT_TRUE(summary({rows.begin(), rows.begin() + 40}).shown.empty());
  for (int i = 0; i < 41; ++i) rows[i].run.ranks = 3 + i;
  rows[21].images_per_s *= 2;
  const Table table = summary(rows);
  EXPECT_EQ(table.rows.size(), 41U);
  // 3, 4, 8, 16, the best at 24, 32, and the last at 43.
  EXPECT_EQ(table.shown, (std::vector<std::size_t>{0, 1, 5, 13, 21, 29, 40}));
}

TEST(PredictionSummary, TellsBothSidesOfTheWidestIntervalOfTheRate) {
  auto rows = samples::curve("alexnet");
  for (model::Prediction& row : rows) {
    row.low = 0.8 * row.time.total;
    row.high = 1.25 * row.time.total;
  }
  EXPECT_TRUE(says(summary(rows), "Rests on data sheets: −20/+25 % of images/s (90 %)."));
  rows[1].low = 0.5 * rows[1].time.total;
  EXPECT_TRUE(says(summary(rows), ": −20/+100 % of images/s (90 %, widest at 2 GPUs)."));
  rows[1].low.reset();
  EXPECT_TRUE(says(summary(rows), "Rests on data sheets: without an interval."));
}

TEST(PredictionSummary, SaysWhatNoTrainingThatWasFittedIsLike) {
  auto rows = samples::curve("alexnet");
  EXPECT_FALSE(says(summary(rows), "Unlike"));
  rows[0].notes = {{model::NoteKind::beyond_fitted, {"nothing by AMD was fitted"}}};
  rows[1].notes = rows[0].notes;
  rows[1].notes.push_back({model::NoteKind::scaling_outside, {"TCP is guessed"}});
  EXPECT_TRUE(
      says(summary(rows), "Unlike anything fitted: nothing by AMD was fitted; TCP is guessed."));
  rows[2].notes = {{model::NoteKind::scaling_outside, {std::string(200, 'x')}}};
  EXPECT_TRUE(says(summary(rows), "TCP is guessed; and 1 more."));
}

TEST(PredictionSummary, CountsTokensOfSequences) {
  auto rows = samples::curve("alexnet");
  EXPECT_FALSE(has_column(summary(rows), "tokens/s"));
  for (model::Prediction& row : rows) {
    row.tokens = 128;
    row.images_per_s = 2;
  }
  const Document document = prediction_summary(rows, words);
  EXPECT_EQ(cell(document.tables.front(), 0, "sequences/s"), "2.00");
  EXPECT_EQ(cell(document.tables.front(), 0, "tokens/s"), "256");
  EXPECT_TRUE(contains(document.tables.front().title, "sequences a GPU"));
  EXPECT_EQ(cell(document.records, 0, "tokens_per_s"), "256");
}

TEST(PredictionSummary, HasTheLimitOfDataSheetsWhereItWasAskedFor) {
  auto rows = samples::curve("alexnet");
  EXPECT_FALSE(has_column(prediction_document(rows).records, "sheet_limit_images_per_s"));
  for (model::Prediction& row : rows) row.sheet_limit = 7679;
  const Document document = prediction_summary(rows, words);
  EXPECT_EQ(cell(document.tables.front(), 0, "sheet limit"), "7,680");
  EXPECT_TRUE(says(document.tables.front(), "sheet limit: images/s at full peak"));
  EXPECT_EQ(cell(document.records, 0, "sheet_limit_images_per_s"), "7679");
}

TEST(PredictionDetails, AddTheTablesOfPhasesWithTheirNotes) {
  const Document document = prediction_details(samples::curve("alexnet"), words);
  ASSERT_EQ(document.tables.size(), 2U);
  const Table& phases = document.tables.back();
  EXPECT_TRUE(has_column(phases, "backward"));
  EXPECT_TRUE(has_column(phases, "90 % interval"));
  EXPECT_TRUE(says(phases, "all-reduce extrapolated from 2 ranks"));
}

}  // namespace
}  // namespace dlscale::report
