#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "report/answers/comparison_page.hpp"
#include "report/answers/prediction_page.hpp"
#include "report/comparison/compare.hpp"
#include "report/comparison/comparison_table.hpp"
#include "report/prediction/prediction_table.hpp"
#include "tests/report/expect_well_made.hpp"
#include "tests/report/look_at.hpp"
#include "tests/report/samples.hpp"

namespace dlscale::report {
namespace {

/// Rules of the first screen: three to five tiles, a picture with numbers, and a badge.
void expect_first_screen(const Page& page) {
  EXPECT_TRUE(page.question.ends_with("?")) << page.question;
  EXPECT_TRUE(page.verdict.ends_with(".")) << page.verdict;
  EXPECT_GE(page.tiles.size(), 3U);
  EXPECT_LE(page.tiles.size(), 5U);
  ASSERT_FALSE(page.figures.empty());
  EXPECT_EQ(page.picture, page.figures.front().name);
  for (const Figure& figure : page.figures) EXPECT_FALSE(figure.data.rows.empty()) << figure.name;
  ASSERT_TRUE(page.data);
  EXPECT_FALSE(page.sections.empty());
}

std::string predictions() {
  return prediction_document(samples::curve("alexnet")).json();
}

TEST(PredictionPage, AnswersWithTheFastestIterationAndItsInterval) {
  const AnswerPage made = prediction_page(predictions(), "answer.json");
  expect_first_screen(made.page);
  expect_well_made(made.document);
  EXPECT_EQ(made.page.question.find("How fast does alexnet train on "), 0U);
  EXPECT_TRUE(contains(made.page.verdict, " on 64 ranks: an iteration takes "));
  EXPECT_TRUE(contains(made.page.verdict, " (90 % interval "));
  EXPECT_EQ(made.page.picture, "speedup");
  ASSERT_TRUE(made.run);
  EXPECT_EQ(made.run->ranks, 64);
  EXPECT_THROW(static_cast<void>(prediction_page("{}", "answer.json")), ConfigError);
}

TEST(PredictionPage, OfOneIterationShowsItsParts) {
  nlohmann::json answer = nlohmann::json::parse(predictions());
  answer["predictions"].erase(answer["predictions"].begin() + 1, answer["predictions"].end());
  EXPECT_EQ(prediction_page(answer.dump(), "answer.json").page.picture, "iteration");
}

TEST(PredictionPage, RatesItsDataByTheLeastCertainSourceAndTheWidestInterval) {
  nlohmann::json answer = nlohmann::json::parse(predictions());
  const auto badge = [&answer](const char* source) {
    for (nlohmann::json& row : answer["predictions"]) row["basis"] = {{"forward", source}};
    return prediction_page(answer.dump(), "answer.json").page.data->word;
  };
  EXPECT_EQ(badge("measured"), "Good");
  EXPECT_EQ(badge("data sheet"), "Usable");
  answer["predictions"][0]["t_iter_high_s"] = 1e3;
  EXPECT_EQ(badge("data sheet"), "Doubtful");
}

/// Five launches of a training whose backward pass takes so many seconds.
std::vector<ResultFile> trainings(double backward) {
  std::vector<Measurement> rows;
  for (int repeat = 0; repeat < 5; ++repeat) {
    samples::PhaseTimes times;
    times.backward = backward * (1 + 1e-3 * repeat);
    rows.push_back(samples::e2e({"alexnet", 2, Schedule::wait_free, repeat}, times));
  }
  return {samples::file("e2e", std::move(rows))};
}

Page compared(double a, double b) {
  const ComparisonReport report = compare(trainings(a), trainings(b), 0.02);
  const AnswerPage made = comparison_page(comparison_document(report).json(), "comparison.json");
  expect_well_made(made.document);
  return made.page;
}

TEST(ComparisonPage, SaysWhatRegressedAndShowsWhichPartItWas) {
  const Page page = compared(0.5, 0.6);
  expect_first_screen(page);
  EXPECT_TRUE(page.verdict.starts_with("Yes: 1 of 1 measurement regressed, most of all "))
      << page.verdict;
  EXPECT_EQ(page.tone, Tone::bad);
  EXPECT_EQ(page.picture, "waterfall");
  EXPECT_TRUE(contains(page.figures.front().svg, ">backward<"));
  EXPECT_TRUE(contains(page.figures.front().svg, "+100 ms ("));
}

TEST(ComparisonPage, SaysThatNothingChanged) {
  const Page page = compared(0.5, 0.5);
  EXPECT_EQ(page.verdict, "No: none of 1 measurement changed by 2.0 % or more.");
  EXPECT_EQ(page.tone, Tone::good);
  EXPECT_THROW(static_cast<void>(comparison_page("[]", "comparison.json")), ConfigError);
}

}  // namespace
}  // namespace dlscale::report
