// Answers of many rows: what a terminal and a page show of them.
#include <gtest/gtest.h>

#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "report/answers/comparison_page.hpp"
#include "report/answers/prediction_page.hpp"
#include "report/comparison/compare.hpp"
#include "report/comparison/comparison_table.hpp"
#include "report/format/format.hpp"
#include "report/prediction/prediction_table.hpp"
#include "tests/report/look_at.hpp"
#include "tests/report/samples.hpp"

namespace dlscale::report {
namespace {

TEST(ComparisonTable, ShowsTheLargestChangesFirstAndSaysHowManyRowsThereAre) {
  ResultFile a = samples::file("conv", {});
  ResultFile b = a;
  for (int layer = 0; layer < 60; ++layer) {
    const std::map<std::string, std::string> axes{{"layer", std::to_string(layer)}};
    a.measurements.push_back(samples::timed("conv", axes, {1.0}));
    b.measurements.push_back(samples::timed("conv", axes, {1 + 0.01 * layer}));
  }
  ComparisonReport report = compare(std::span(&a, 1), std::span(&b, 1), 0.02);
  report.a = "old";
  report.b = "new";
  const std::string text = format::find_format("table").write(comparison_document(report), {});
  EXPECT_TRUE(contains(text, "B (new) against A (old)")) << text;
  EXPECT_TRUE(contains(text, "40 of 60 rows are shown; the format markdown has all")) << text;
  EXPECT_TRUE(contains(text, "conv layer=59")) << text;
  EXPECT_FALSE(contains(text, "conv layer=19 ")) << text;
}

/// An answer of compare about two convolutions.
nlohmann::json compared_convolutions() {
  std::vector<Measurement> rows;
  for (const char* layer : {"conv1", "conv2"}) {
    rows.push_back(samples::timed("conv", {{"layer", layer}, {"pass", "backward_filter"}},
                                  std::vector<double>(10, 1.0)));
  }
  const ResultFile file = samples::file("conv", rows);
  ComparisonReport report = compare(std::span(&file, 1), std::span(&file, 1), 0.02);
  report.a = "old";
  report.b = "new";
  return nlohmann::json::parse(comparison_document(report).json());
}

TEST(ComparisonPage, NamesBothSides) {
  const Page page = comparison_page(compared_convolutions().dump(), "comparison.json").page;
  EXPECT_EQ(page.question, "Is B (new) slower than A (old)?");
  const std::string text = html(page);
  EXPECT_TRUE(contains(text, "B (new) against A (old), what regressed first"));
  EXPECT_TRUE(contains(text, ">A (old)</th>"));
  EXPECT_TRUE(contains(text, "all of conv: conv ")) << "what short names leave out";
}

/// An answer whose list of rows repeats its first to that number.
std::string with_rows(nlohmann::json answer, const char* list, std::size_t count) {
  while (answer[list].size() < count) answer[list].push_back(answer[list][0]);
  return answer.dump();
}

// A page names the file of the answer, which has all of its thousands of rows.
TEST(AnswerPages, StaySmallWithManyRows) {
  const std::string compared =
      html(comparison_page(with_rows(compared_convolutions(), "rows", 1000), "all.json").page);
  const std::string predicted = html(
      prediction_page(
          with_rows(nlohmann::json::parse(prediction_document(samples::curve("alexnet")).json()),
                    "predictions", 1000),
          "all.json")
          .page);
  for (const std::string& page : {compared, predicted}) {
    EXPECT_LT(page.size(), 500'000U);
    EXPECT_TRUE(contains(page, "The page shows the first 250 of 1,000 rows; all.json has all."));
  }
}

}  // namespace
}  // namespace dlscale::report
