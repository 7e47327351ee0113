#include "app/suite/steps/suite_outputs.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "core/results/measurement.hpp"

namespace dlscale::app {
namespace {

namespace fs = std::filesystem;

enum class End { there, missing };

class Findings : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() /
              (std::string("dlscale_findings_") +
               ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  /// A step that has written one row of each status.
  [[nodiscard]] SuiteStep step(const std::string& name, const std::map<std::string, Status>& rows,
                               End end = End::there) const {
    const fs::path path = folder_ / (name + ".jsonl");
    ResultHeader header;
    header.benchmark = "conv";
    ResultWriter writer(path, header);
    for (const auto& [layer, status] : rows) {
      Measurement row;
      row.benchmark = "conv";
      row.axes = {{"layer", layer}};
      row.status = status;
      row.reason = "since " + layer;
      if (status == Status::ok) row.series["time"] = make_series("s", {{1e-3}});
      writer.write(row);
    }
    if (end == End::there) writer.finish();
    SuiteStep made;
    made.name = name;
    made.words = {"bench", "conv", "-o", path.string()};
    return made;
  }

  fs::path folder_;
};

TEST_F(Findings, AreNamedWithTheirFilesInTheOrderOfSteps) {
  const std::vector<SuiteStep> steps{
      step("b", {{"good", Status::ok}, {"off", Status::wrong}}),
      step("a", {{"refused", Status::unsupported}, {"worse", Status::wrong}})};
  const std::vector<WrongRow> wrong = wrong_rows(steps);
  ASSERT_EQ(wrong.size(), 2U);
  EXPECT_TRUE(wrong[0].file.ends_with("b.jsonl"));
  EXPECT_EQ(wrong[0].key, "conv layer=off");
  EXPECT_EQ(wrong[0].reason, "since off");
  EXPECT_TRUE(wrong[1].file.ends_with("a.jsonl"));
  EXPECT_EQ(conclude(wrong), ExitCode::wrong_result);
  EXPECT_EQ(conclude({}), ExitCode::ok);
}

TEST_F(Findings, OfAFileThatTwoStepsNameCountOnce) {
  const SuiteStep once = step("one", {{"off", Status::wrong}});
  EXPECT_EQ(wrong_rows(std::vector{once, once}).size(), 1U);
}

TEST_F(Findings, ExplainAnExitCodeOnlyWhereRowsDo) {
  const SuiteStep wrong = step("wrong", {{"good", Status::ok}, {"off", Status::wrong}});
  const SuiteStep right = step("right", {{"good", Status::ok}});
  const SuiteStep refused = step("refused", {{"gone", Status::unsupported}});
  EXPECT_TRUE(told_by_rows(wrong, ExitCode::wrong_result));
  EXPECT_FALSE(told_by_rows(right, ExitCode::wrong_result)) << "a crash";
  EXPECT_TRUE(told_by_rows(refused, ExitCode::nothing_measured));
  EXPECT_FALSE(told_by_rows(step("empty", {}), ExitCode::nothing_measured));
  EXPECT_FALSE(told_by_rows(wrong, ExitCode::bad_input));
}

TEST_F(Findings, OfAStepThatDidNotFinishExplainNothing) {
  const SuiteStep lost = step("lost", {{"off", Status::wrong}}, End::missing);
  EXPECT_FALSE(told_by_rows(lost, ExitCode::wrong_result));
  EXPECT_TRUE(wrong_rows(std::span(&lost, 1)).empty());
}

TEST_F(Findings, AreLookedForInResultsAlone) {
  std::ofstream(folder_ / "page.html") << "no results\n";
  SuiteStep report;
  report.words = {"report", "-o", (folder_ / "page.html").string()};
  EXPECT_TRUE(wrong_rows(std::span(&report, 1)).empty());
  SuiteStep measures;
  measures.words = {"bench", "conv", "-o", (folder_ / "not_there.jsonl").string()};
  EXPECT_FALSE(told_by_rows(measures, ExitCode::wrong_result));
}

}  // namespace
}  // namespace dlscale::app
