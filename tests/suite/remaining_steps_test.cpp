#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/results/measurement.hpp"
#include "core/text/progress_line.hpp"
#include "suite/steps/remaining_steps.hpp"
#include "suite/steps/suite_outputs.hpp"
#include "suite/steps/suite_progress.hpp"
#include "tests/core/support.hpp"

namespace dlscale::suite {
namespace {

using Words = std::vector<std::string>;

class Left : public ::testing::Test {
 protected:
  [[nodiscard]] SuiteStep step(const std::string& name, Words words) const {
    SuiteStep result;
    result.name = name;
    for (std::string& word : words) {
      if (word.starts_with("@/")) word.replace(0, 1, folder_.path().string());
    }
    result.words = std::move(words);
    result.placed_words = result.words;
    result.outputs = outputs_of(result);
    return result;
  }

  /// Data, a benchmark that reads it, two that do not, what derives from all, and a training by it.
  [[nodiscard]] std::vector<SuiteStep> suite() const {
    return {step("data", {"data", "make", "--out", "@/data"}),
            step("conv", {"bench", "conv", "-o", "@/conv.jsonl"}),
            step("io", {"bench", "io", "--data", "@/data/part", "-o", "@/io.jsonl"}),
            step("gemm", {"bench", "gemm", "-o", "@/gemm.jsonl"}),
            step("calibrate", {"calibrate", "@/", "-o", "@/machine.json"}),
            step("train", {"bench", "e2e", "--machine", "@/machine.json", "-o", "@/e2e.jsonl"}),
            step("last", {"bench", "gemm", "-o", "@/last.jsonl"})};
  }

  /// As if each had been carried out, and left something.
  void carry_out(const std::vector<SuiteStep>& steps) const {
    for (const SuiteStep& each : steps) {
      for (const auto& output : each.outputs) measure(output.filename().string());
      progress().mark(each, 1.0);
    }
  }

  void measure(const std::string& name) const {
    ResultHeader header;
    header.benchmark = "gemm";
    ResultWriter writer(folder_.path() / name, header);
    Measurement row;
    row.benchmark = "gemm";
    row.series["time"] = make_series("s", {{1e-3}});
    writer.write(row);
    writer.finish();
  }

  [[nodiscard]] SuiteProgress progress() const { return {folder_.path(), "this build"}; }

  [[nodiscard]] Words names(const std::vector<SuiteStep>& steps) const {
    const RemainingSteps left(steps, progress());
    Words result;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (left.to_do(i)) result.push_back(steps[i].name);
    }
    return result;
  }

  test::TemporaryFolder folder_;
};

TEST_F(Left, AStepBuildsUponWhatItNamesUnlessItMayReadAll) {
  const auto steps = suite();
  EXPECT_TRUE(builds_upon(steps[2], steps[0])) << "what is in the data";
  EXPECT_FALSE(builds_upon(steps[1], steps[0]));
  EXPECT_TRUE(builds_upon(steps[4], steps[1])) << "it reads a folder";
  EXPECT_TRUE(builds_upon(steps[5], steps[4]));
  EXPECT_FALSE(builds_upon(steps[6], steps[4]));
  SuiteStep report = step("report", {"report", "@/", "--machine", "@/machine.json"});
  report.always = true;
  EXPECT_FALSE(builds_upon(report, steps[1])) << "it takes what there is";
  EXPECT_TRUE(builds_upon(report, steps[4]));
  EXPECT_FALSE(builds_upon(step("x", {"bench", "io", "--data", "@/database"}), steps[0]));
}

TEST_F(Left, AStepThatIsNotDoneTakesAllLaterOnesAlong) {
  const auto steps = suite();
  EXPECT_EQ(names(steps).size(), steps.size());
  carry_out(steps);
  EXPECT_EQ(names(steps), Words());
  progress().mark_begun(steps[3]);
  EXPECT_EQ(names(steps), (Words{"gemm", "calibrate", "train", "last"}));
  const RemainingSteps left(steps, progress());
  EXPECT_EQ(left.cause(3), nullptr);
  EXPECT_EQ(left.cause(6), steps.data() + 3);
  EXPECT_FALSE(left.alone(6));
}

TEST_F(Left, AStepThatFailedTakesAlongWhatBuildsUponIt) {
  const auto steps = suite();
  carry_out(steps);
  progress().mark_begun_alone(steps[1]);
  EXPECT_TRUE(progress().begun(steps[1]));
  EXPECT_EQ(names(steps), (Words{"conv", "calibrate", "train"}));
  const RemainingSteps left(steps, progress());
  EXPECT_EQ(left.cause(4), steps.data() + 1);
  EXPECT_EQ(left.cause(5), steps.data() + 4);
  EXPECT_TRUE(left.alone(4)) << "or it would take along what does not build upon it";
  EXPECT_EQ(with_builders(steps, 1),
            (std::vector<bool>{false, true, false, false, true, true, false}));
  // As the next call finds them: what was left out has no mark.
  progress().keep_only(std::vector<SuiteStep>{steps[0], steps[1], steps[2], steps[3], steps[6]});
  EXPECT_EQ(names(steps), (Words{"conv", "calibrate", "train"}));
}

TEST_F(Left, OneThatWaitsForAllWinsOverOneThatFailed) {
  const auto steps = suite();
  carry_out(steps);
  progress().mark_begun_alone(steps[1]);
  progress().mark_begun(steps[3]);
  EXPECT_EQ(names(steps), (Words{"conv", "gemm", "calibrate", "train", "last"}));
  const RemainingSteps left(steps, progress());
  EXPECT_TRUE(left.alone(1));
  EXPECT_FALSE(left.alone(4));
}

TEST_F(Left, ResultsBesideOneThatFailedAreKept) {
  const auto steps = suite();
  carry_out(steps);
  progress().mark_begun_alone(steps[1]);
  EXPECT_THROW(protect_outputs(steps, progress(), Fresh::no), ConfigError)
      << "the training would be done again";
  std::error_code error;
  std::filesystem::remove(folder_.path() / "e2e.jsonl", error);
  EXPECT_NO_THROW(protect_outputs(steps, progress(), Fresh::no));
}

namespace fs = std::filesystem;

class Progress : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() /
              (std::string("dlscale_progress_") +
               ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  [[nodiscard]] SuiteProgress progress(const std::string& build = "this build") const {
    return {folder_, build};
  }
  static SuiteStep step(const std::string& name, std::vector<std::string> words = {"info"}) {
    SuiteStep result;
    result.name = name;
    result.placed_words = words;
    result.words = std::move(words);
    result.outputs = outputs_of(result);
    return result;
  }
  [[nodiscard]] fs::path write(const std::string& name) const {
    std::ofstream(folder_ / name) << "something\n";
    return folder_ / name;
  }
  fs::path folder_;
};

TEST_F(Progress, AStepIsDoneOnlyForTheCommandThatWasRun) {
  EXPECT_FALSE(progress().done(step("net/one")));
  progress().mark(step("net/one"), 1.0);
  EXPECT_TRUE(progress().done(step("net/one")));
  EXPECT_FALSE(progress().done(step("net/one", {"info", "--more"})));
}

TEST_F(Progress, AStepIsTheSameByWhateverNameItsFolderIsCalled) {
  SuiteStep one = step("one", {"info", "here/x"});
  one.placed_words = {"info", "{out}/x"};
  progress().mark(one, 1.0);
  one.words = {"info", "./here/x"};
  EXPECT_TRUE(progress().done(one));
}

TEST_F(Progress, WhatIsGivenUpIsNotDoneUntilItWasBegunAnew) {
  const std::vector<SuiteStep> steps{step("one"), step("two")};
  for (const SuiteStep& each : steps) progress().mark(each, 1.0);
  progress().give_up(steps);
  EXPECT_FALSE(progress().done(steps[0]));
  EXPECT_FALSE(progress().begun(steps[0]));
  EXPECT_EQ(progress().seconds(steps[0]), 0);
  progress().keep_only({});
  EXPECT_TRUE(progress().given_up(steps[1]));
  EXPECT_FALSE(progress("another build").given_up(steps[1]));
  EXPECT_FALSE(progress().given_up(step("two", {"info", "--more"})));
  progress().mark_begun(steps[1]);
  EXPECT_FALSE(progress().given_up(steps[1]));
  EXPECT_TRUE(progress().begun(steps[1]));
}

TEST_F(Progress, SaysWhyAMarkDoesNotHold) {
  EXPECT_NE(progress().difference(step("one")).find("nothing tells"), std::string::npos);
  progress().mark(step("one"), 1.0);
  EXPECT_EQ(progress().difference(step("one")), "");
  EXPECT_NE(progress("another").difference(step("one")).find("another build"), std::string::npos);
  EXPECT_NE(progress().difference(step("one", {"info", "--more"})).find("other options"),
            std::string::npos);
}

TEST_F(Progress, LeavesFilesAloneThatAreNoMarks) {
  progress().mark(step("one"), 1.0);
  const fs::path note = write(".done/note");
  fs::create_directories(folder_ / ".done" / "deep");
  const fs::path deep = write(".done/deep/note");
  progress().keep_only({});
  EXPECT_FALSE(fs::exists(folder_ / ".done" / "one"));
  EXPECT_TRUE(fs::exists(note));
  EXPECT_TRUE(fs::exists(deep));
  EXPECT_THROW(progress().mark_begun(step("note")), ConfigError);
  EXPECT_THROW(progress().mark_begun(step("deep")), ConfigError);
  EXPECT_TRUE(fs::exists(note));
}

TEST_F(Progress, AStepThatWasBegunCanBeGoneOnWith) {
  EXPECT_FALSE(progress().begun(step("one")));
  progress().mark_begun(step("one"));
  EXPECT_TRUE(progress().begun(step("one")));
  EXPECT_FALSE(progress().done(step("one")));
  EXPECT_EQ(progress().seconds(step("one")), 0);
  EXPECT_FALSE(progress().begun(step("one", {"info", "--more"})));
  EXPECT_FALSE(progress("another build").begun(step("one")));
  progress().mark(step("one"), 1.0);
  EXPECT_FALSE(progress().begun(step("one")));
  EXPECT_TRUE(progress().done(step("one")));
}

TEST_F(Progress, WhatAnotherBuildMeasuredIsNotDone) {
  progress("commit a").mark(step("one"), 1.0);
  EXPECT_TRUE(progress("commit a").done(step("one")));
  EXPECT_FALSE(progress("commit b").done(step("one")));
}

TEST_F(Progress, AStepWhoseOutputIsGoneOrEmptyIsNotDone) {
  for (const std::string option : {"-o", "--output", "--out"}) {
    const fs::path file = write("result" + option);
    const SuiteStep one = step("one", {"bench", "conv", option, file.string()});
    progress().mark(one, 1.0);
    EXPECT_TRUE(progress().done(one)) << option;
    fs::resize_file(file, 0);
    EXPECT_FALSE(progress().done(one)) << option;
    fs::remove(file);
    EXPECT_FALSE(progress().done(one)) << option;
  }
}

TEST_F(Progress, StandardOutputIsNoFile) {
  const SuiteStep one = step("one", {"predict", "-o", "-"});
  progress().mark(one, 1.0);
  EXPECT_TRUE(progress().done(one));
}

TEST_F(Progress, AStepThatAlwaysRunsIsNeverDone) {
  SuiteStep report = step("report");
  report.always = true;
  progress().mark(report, 3.0);
  EXPECT_FALSE(progress().done(report));
  EXPECT_DOUBLE_EQ(progress().seconds(report), 3.0);
}

TEST_F(Progress, KeepsTheStepsBeforeAndForgetsAllOthers) {
  const std::vector<SuiteStep> steps{step("one"), step("two/deep"), step("three")};
  progress().keep_only(steps);
  for (const SuiteStep& each : steps) progress().mark(each, 1.0);
  progress().mark(step("of an older suite"), 1.0);
  progress().keep_only(std::span(steps).first(2));
  EXPECT_TRUE(progress().done(steps[0]));
  EXPECT_TRUE(progress().done(steps[1]));
  EXPECT_FALSE(progress().done(steps[2]));
  EXPECT_FALSE(progress().done(step("of an older suite")));
}

TEST_F(Progress, RemembersHowLongAStepTook) {
  EXPECT_EQ(progress().seconds(step("one")), 0);
  progress().mark(step("one"), 12.34);
  EXPECT_NEAR(progress().seconds(step("one")), 12.34, 0.05);
}

SuiteStep estimated(double seconds) {
  SuiteStep step;
  step.seconds = seconds;
  return step;
}

TEST(TimeLeft, IsTheSumOfTheEstimatesAtFirstAndNothingInTheEnd) {
  const std::vector<SuiteStep> steps{estimated(10), estimated(30)};
  TimeLeft left = TimeLeft::of(steps);
  EXPECT_DOUBLE_EQ(left.seconds(), 40);
  left.finished(steps[0].seconds, 10);
  EXPECT_DOUBLE_EQ(left.seconds(), 30);
  left.finished(steps[1].seconds, 90);
  EXPECT_DOUBLE_EQ(left.seconds(), 0);
}

TEST(TimeLeft, FollowsASlowMachineButNotOneShortStep) {
  const std::vector<SuiteStep> steps{estimated(1), estimated(99), estimated(100)};
  TimeLeft left = TimeLeft::of(steps);
  left.finished(steps[0].seconds, 0.01);
  EXPECT_GT(left.seconds(), 180);
  left.finished(steps[1].seconds, 299.99);  // three times as slow: 300 s for 100
  EXPECT_GT(left.seconds(), 250);
  EXPECT_LT(left.seconds(), 300);
}

}  // namespace
}  // namespace dlscale::suite
