#include "report/answers/comparison_page.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "report/comparison/compare.hpp"
#include "report/comparison/comparison_table.hpp"
#include "tests/report/expect_well_made.hpp"
#include "tests/report/look_at.hpp"
#include "tests/report/samples.hpp"

namespace dlscale::report {
namespace {

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
  EXPECT_TRUE(page.verdict.starts_with("Yes: 1 of 1 measurement regressed in B, most of all "))
      << page.verdict;
  EXPECT_EQ(page.tone, Tone::bad);
  EXPECT_EQ(page.picture, "waterfall");
  EXPECT_TRUE(contains(page.figures.front().svg, ">backward<"));
  EXPECT_TRUE(contains(page.figures.front().svg, "+100 ms ("));
}

TEST(ComparisonPage, CountsWhatTheTerminalCounts) {
  std::vector<ResultFile> a = trainings(0.5);
  std::vector<ResultFile> b = trainings(0.6);
  for (std::vector<ResultFile>* side : {&a, &b}) {
    side->push_back(samples::file(
        "conv", {samples::timed("conv", {{"layer", "z"}},
                                std::vector<double>(10, side == &a ? 1.0 : 2.0))}));
  }
  b.front().header.environment.libraries["oneDNN_cpu_isa"] = "avx2";
  EXPECT_TRUE(compare(a, b, 0.02).changed_environment.empty());
  a.front().header.environment.libraries["oneDNN_cpu_isa"] = "avx512_core";
  const ComparisonReport report = compare(a, b, 0.02);
  const Document document = comparison_document(report);
  EXPECT_TRUE(document.lead.starts_with(
      "regressed, measured in different environments (oneDNN_cpu_isa: avx512_core | avx2): 1 "
      "regressed, 0 improved, 0 unchanged, 0 inconclusive of 1 row of several launches. 1 row "
      "rests on one launch"))
      << document.lead;
  const Page page = comparison_page(document.json(), "comparison.json").page;
  EXPECT_TRUE(page.verdict.starts_with("Yes: 1 of 1 measurement regressed in B, most of all "))
      << page.verdict;
  EXPECT_TRUE(contains(page.verdict,
                       " Measured in different environments (oneDNN_cpu_isa: avx512_core | avx2), "
                       "so a change may not be of the versions. "))
      << page.verdict;
  EXPECT_TRUE(page.verdict.ends_with(
      " 1 more rests on one launch of a side, whose intervals are too narrow."))
      << page.verdict;
  EXPECT_EQ(page.tiles.at(0).value, "1 of 1");
}

TEST(ComparisonPage, SaysThatOneChangeExplainsAllRows) {
  std::vector<ResultFile> a;
  std::vector<ResultFile> b;
  for (const char* network : {"alexnet", "googlenet", "resnet50", "vgg16"}) {
    a.push_back(trainings(0.5).front());
    b.push_back(trainings(0.8).front());
    for (ResultFile* file : {&a.back(), &b.back()}) {
      for (Measurement& row : file->measurements) row.axes["network"] = network;
    }
  }
  const Document document = comparison_document(compare(a, b, 0.02));
  const Page page = comparison_page(document.json(), "comparison.json").page;
  expect_first_screen(page);
  EXPECT_TRUE(
      page.verdict.starts_with("Slower, by the version or by the machine: one change of +30."))
      << page.verdict;
  EXPECT_TRUE(page.verdict.ends_with(" explains 4 of 4 measurements, as a slower machine would."))
      << page.verdict;
  EXPECT_EQ(page.data->word, "Usable");
  EXPECT_EQ(page.tiles.back().name, "Median change in time of an iteration");
  EXPECT_TRUE(page.tiles.back().detail.starts_with("95 % interval +")) << page.tiles.back().detail;
  EXPECT_TRUE(contains(page.figures.front().svg, ">change in time of an iteration (+ = worse)<"));
}

/// A convolution of so many launches, which takes so many seconds in each sample.
ResultFile convolution(const std::string& layer, int launches, double seconds) {
  std::vector<Measurement> rows;
  for (int repeat = 0; repeat < launches; ++repeat) {
    rows.push_back(samples::timed("conv", {{"layer", layer}, {"repeat", std::to_string(repeat)}},
                                  std::vector<double>(10, seconds * (1 + 1e-4 * repeat))));
  }
  return samples::file("conv", std::move(rows));
}

Page page_of(const std::vector<ResultFile>& a, const std::vector<ResultFile>& b) {
  return comparison_page(comparison_document(compare(a, b, 0.02)).json(), "comparison.json").page;
}

TEST(ComparisonPage, CountsAllRowsWhereOneLaunchAloneRegressed) {
  std::vector<ResultFile> a{convolution("x", 5, 1), convolution("y", 5, 1), convolution("z", 1, 1)};
  std::vector<ResultFile> b = a;
  b.back() = convolution("z", 1, 2);
  const Page page = page_of(a, b);
  EXPECT_TRUE(page.verdict.starts_with("Maybe, if one launch is enough: 1 of 3 measurements "))
      << page.verdict;
  EXPECT_EQ(page.tone, Tone::caution);
  EXPECT_EQ(page.tiles.front().value, "1 of 3");
}

TEST(ComparisonPage, NamesWhatItDoesNotCount) {
  const std::vector<ResultFile> b{convolution("x", 5, 1)};
  std::vector<ResultFile> a = b;
  a.push_back(convolution("y", 5, 1));
  a.push_back(convolution("z", 5, 1));
  const Page page = page_of(a, b);
  EXPECT_EQ(page.verdict,
            "No: none of 1 measurement changed by 2.0 % or more. Not counted: 2 not measured in "
            "B.");
  EXPECT_EQ(page.tone, Tone::caution);
}

TEST(ComparisonPage, GivesTheReasonOfAnOpenVerdict) {
  std::vector<ResultFile> a{convolution("x", 5, 1), convolution("y", 5, 1)};
  std::vector<ResultFile> b = a;
  for (Measurement& row : b.back().measurements) row.status = Status::interrupted;
  EXPECT_EQ(page_of(a, b).verdict,
            "Not known: 1 measurement could not be compared; the other did not regress.");
  ComparisonReport report = compare(a, a, 0.02);
  report.verdict = regression::Verdict::inconclusive;
  for (Comparison& row : report.rows) row.verdict = regression::Verdict::inconclusive;
  report.rows.front().held = Comparison::Held::by_family;
  const Document document = comparison_document(report);
  EXPECT_EQ(comparison_page(document.json(), "comparison.json").page.verdict,
            "Not known: 2 of 2 measurements are inconclusive. 1 measurement may differ by chance "
            "among so many: measure more repeats. 1 interval is too wide.");
  EXPECT_TRUE(contains(document.lead, ". 1 row may differ by chance among so many"));
}

TEST(ComparisonPage, SaysThatNothingChanged) {
  const Page page = compared(0.5, 0.5);
  EXPECT_EQ(page.verdict, "No: none of 1 measurement changed by 2.0 % or more.");
  EXPECT_EQ(page.tone, Tone::good);
  EXPECT_THROW(static_cast<void>(comparison_page("[]", "comparison.json")), ConfigError);
}

}  // namespace
}  // namespace dlscale::report
