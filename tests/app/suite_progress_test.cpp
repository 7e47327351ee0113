#include "app/suite/definition/suite_progress.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "core/base/error.hpp"

namespace dlscale::app {
namespace {

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
  TimeLeft left(steps);
  EXPECT_DOUBLE_EQ(left.seconds(), 40);
  left.finished(steps[0], 10);
  EXPECT_DOUBLE_EQ(left.seconds(), 30);
  left.finished(steps[1], 90);
  EXPECT_DOUBLE_EQ(left.seconds(), 0);
}

TEST(TimeLeft, FollowsASlowMachineButNotOneShortStep) {
  const std::vector<SuiteStep> steps{estimated(1), estimated(99), estimated(100)};
  TimeLeft left(steps);
  left.finished(steps[0], 0.01);
  EXPECT_GT(left.seconds(), 180);
  left.finished(steps[1], 299.99);  // three times as slow: 300 s for 100
  EXPECT_GT(left.seconds(), 250);
  EXPECT_LT(left.seconds(), 300);
}

}  // namespace
}  // namespace dlscale::app
