#include "report/comparison/side_by_side.hpp"

#include <gtest/gtest.h>

#include "core/base/error.hpp"
#include "report/prediction/prediction_table.hpp"
#include "tests/report/expect_well_made.hpp"
#include "tests/report/look_at.hpp"
#include "tests/report/samples.hpp"

namespace dlscale::report {
namespace {

ResultSource trained(const std::string& name, double forward) {
  samples::PhaseTimes times;
  times.forward = forward;
  ResultSource source{name, {samples::file("e2e", {samples::e2e({}, times)})}, {}};
  source.results.front().header.environment.cpu = name + " CPU";
  return source;
}

TEST(SideBySide, GivesTimesAndRatiosToTheFirst) {
  const SideBySide all = side_by_side({trained("A", 0.2), trained("B", 1.2)});
  ASSERT_EQ(all.columns.size(), 2U);
  ASSERT_EQ(all.rows.size(), 1U);
  EXPECT_NEAR(all.rows[0].times[0].si(), 1.0, 1e-12);
  EXPECT_NEAR(all.rows[0].times[1].si(), 2.0, 1e-12);
  const Document document = side_by_side_document(all);
  expect_well_made(document);
  EXPECT_EQ(cell(document.tables[0], 0, "÷ first"), "2.00");
  ASSERT_EQ(document.tables.size(), 2U);
  EXPECT_EQ(document.tables[1].notes, std::vector<std::string>{"cpu: A: A CPU; B: B CPU"});
}

TEST(SideBySide, PutsSchedulesOfOneFolderInColumnsOfTheirOwn) {
  ResultSource source = trained("A", 0.2);
  source.results.front().measurements.push_back(
      samples::e2e({"alexnet", 1, Schedule::sequential, 0}, {}));
  const SideBySide all = side_by_side({source});
  ASSERT_EQ(all.columns.size(), 2U);
  EXPECT_EQ(all.columns[0].name, "A · sequential");
  EXPECT_EQ(all.columns[1].name, "A · wait_free");
}

TEST(SideBySide, NeverJoinsRunsThatDifferInASetting) {
  ResultSource source = trained("A", 0.2);
  Measurement more = source.results.front().measurements.front();
  more.axes["threads"] = "2";
  source.results.front().measurements.push_back(more);
  const SideBySide all = side_by_side({source});
  ASSERT_EQ(all.columns.size(), 2U);
  EXPECT_EQ(all.columns[1].name, "A · threads=2");
}

TEST(SideBySide, LeavesOutWhatFailedAndCountsWhatStandsAlone) {
  ResultSource a = trained("A", 0.2);
  ResultSource b = trained("B", 0.2);
  b.results.front().measurements.front().status = Status::wrong;
  const SideBySide all = side_by_side({a, b});
  EXPECT_TRUE(all.rows.empty());
  EXPECT_EQ(all.alone, 1U);
}

TEST(SideBySide, TakesPredictionsAsAColumn) {
  const std::vector<model::Prediction> curve = samples::curve("alexnet");
  ResultSource predicted{
      "predicted", {}, predictions_of(prediction_document(curve).json(), "p.json")};
  ASSERT_EQ(predicted.predicted.size(), curve.size());
  ResultSource measured = trained("A", 0.2);
  measured.results.front().measurements.front().axes["batch"] =
      predicted.predicted.front().axes.at("batch");
  const SideBySide all = side_by_side({measured, predicted});
  ASSERT_EQ(all.rows.size(), 1U);
  EXPECT_EQ(all.rows[0].times[1], curve.front().time.total);
  EXPECT_EQ(all.alone, curve.size() - 1);
}

TEST(SideBySide, RefusesPredictionsThatAreNone) {
  for (const char* text : {"", "{}", "[]", R"({"predictions": [{"run": {}}]})",
                           R"({"predictions": [{"run": {"network": 3}}]})"}) {
    try {
      static_cast<void>(predictions_of(text, "file.json"));
      ADD_FAILURE() << text;
    } catch (const ConfigError& error) {
      EXPECT_TRUE(contains(error.what(), "file.json")) << error.what();
    }
  }
}

}  // namespace
}  // namespace dlscale::report
