#include "app/suite/steps/steps_left.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "app/suite/steps/suite_outputs.hpp"
#include "core/base/error.hpp"
#include "core/results/measurement.hpp"
#include "tests/core/support.hpp"

namespace dlscale::app {
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
      for (const auto& output : outputs_of(each)) measure(output.filename().string());
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
    const StepsLeft left(steps, progress());
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
  const StepsLeft left(steps, progress());
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
  const StepsLeft left(steps, progress());
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
  const StepsLeft left(steps, progress());
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

}  // namespace
}  // namespace dlscale::app
