#include "app/suite.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "bench/benchmark.hpp"
#include "core/config_path.hpp"
#include "core/error.hpp"

namespace dlscale::app {
namespace {

namespace fs = std::filesystem;

class SuiteFile : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() /
              (std::string("dlscale_suite_") +
               ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  Suite load(const std::string& steps) {
    const fs::path path = folder_ / "suite.yaml";
    std::ofstream(path) << "suite: test\nsteps:\n" << steps;
    return load_suite(path.string(), {{"out", "here"}});
  }
  fs::path folder_;
};

TEST_F(SuiteFile, MakesOneStepOfEachCombination) {
  const Suite suite = load(
      "  - name: t-{network}-{ranks}\n"
      "    command: bench e2e --batch {batch} -o {out}/x\n"
      "    ranks: '{ranks}'\n"
      "    for:\n"
      "      ranks: [1, 2]\n"
      "      network: [{network: a, batch: 4}, {network: b, batch: 8}]\n");
  ASSERT_EQ(suite.steps.size(), 4U);
  EXPECT_EQ(suite.steps[3].name, "t-b-2");
  EXPECT_EQ(suite.steps[3].ranks, 2);
  EXPECT_EQ(suite.steps[3].words,
            (std::vector<std::string>{"bench", "e2e", "--batch", "8", "-o", "here/x"}));
}

TEST_F(SuiteFile, RowsMayHoldPlaceholders) {
  const Suite suite = load(
      "  - name: t-{place}-{deeper}\n"
      "    command: info\n"
      "    for: {place: ['{out}', there], deeper: [{deeper: '{place}/in'}]}\n");
  ASSERT_EQ(suite.steps.size(), 2U);
  EXPECT_EQ(suite.steps[0].name, "t-here-here/in");
  EXPECT_EQ(suite.steps[1].name, "t-there-there/in");
  EXPECT_THROW(load("  - {name: 't-{a}', command: info, for: {a: ['{b}']}}\n"), ConfigError);
}

TEST_F(SuiteFile, RefusesFewerWorkersThanTheSuiteCompares) {
  const fs::path path = folder_ / "suite.yaml";
  std::ofstream(path) << "suite: test\nleast_workers: 2\nsteps: [{name: a, command: info}]\n";
  EXPECT_EQ(load_suite(path.string(), {{"workers", "2"}}).steps.size(), 1U);
  EXPECT_THROW(load_suite(path.string(), {{"workers", "1"}}), ConfigError);
  EXPECT_THROW(load_suite(path.string(), {}), ConfigError);
}

TEST_F(SuiteFile, DoesAGroupAsAWholeForEachRow) {
  const Suite suite = load(
      "  - for: {round: [1, 2]}\n"
      "    steps:\n"
      "      - {name: 'part-{round}', command: bench conv}\n"
      "      - {name: 'run-{round}-{ranks}', command: bench e2e, for: {ranks: [1, 2]}}\n");
  std::vector<std::string> names;
  for (const SuiteStep& step : suite.steps) names.push_back(step.name);
  EXPECT_EQ(names, (std::vector<std::string>{"part-1", "run-1-1", "run-1-2", "part-2", "run-2-1",
                                             "run-2-2"}));
}

TEST_F(SuiteFile, RefusesTwoStepsOfOneName) {
  EXPECT_THROW(load("  - {name: a, command: info, for: {ranks: [1, 2]}}\n"), ConfigError);
}

TEST_F(SuiteFile, RefusesAGroupWithACommand) {
  EXPECT_THROW(load("  - {command: info, steps: [{name: a, command: info}]}\n"), ConfigError);
  EXPECT_THROW(load("  - {steps: 3}\n"), ConfigError);
}

TEST_F(SuiteFile, RefusesAPlaceholderThatStandsForNothing) {
  EXPECT_THROW(load("  - {name: a, command: 'bench {what}'}\n"), ConfigError);
}

TEST_F(SuiteFile, RefusesUnknownKeysAndStepsWithoutACommand) {
  EXPECT_THROW(load("  - {name: a, comand: info}\n"), ConfigError);
  EXPECT_THROW(load("  - {name: a}\n"), ConfigError);
  EXPECT_THROW(load("  - {name: a, command: info, ranks: two}\n"), ConfigError);
}

TEST_F(SuiteFile, ReadsWhichStepsAlwaysRun) {
  const Suite suite = load(
      "  - {name: measure, command: bench conv}\n"
      "  - {name: report, command: report, always: true}\n");
  EXPECT_FALSE(suite.steps[0].always);
  EXPECT_TRUE(suite.steps[1].always);
}

/// All steps of all suites that come with the program, for workers of 4 cores and 3 threads.
std::vector<SuiteStep> shipped_steps(const std::string& workers) {
  const std::map<std::string, std::string> values{
      {"out", "o"}, {"data", "d"}, {"workers", workers}, {"cores", "4"}, {"threads", "3"}};
  std::vector<SuiteStep> steps;
  for (const std::string& name : config_names("suites")) {
    const Suite suite = load_suite(name, values);
    EXPECT_FALSE(suite.steps.empty()) << name;
    steps.insert(steps.end(), suite.steps.begin(), suite.steps.end());
  }
  return steps;
}

std::string option(const SuiteStep& step, std::string_view name) {
  const auto place = std::ranges::find(step.words, name);
  if (place == step.words.end() || place + 1 == step.words.end()) return "none";
  return *(place + 1);
}

bool has_threads(const bench::Benchmark& benchmark) {
  return std::ranges::any_of(benchmark.axes,
                             [](const bench::Axis& axis) { return axis.name == "threads"; });
}

TEST(Suites, PredictWithTheThreadsAndCoresThatWereMeasured) {
  const std::vector<SuiteStep> steps = shipped_steps("2");
  ASSERT_FALSE(steps.empty());
  for (const SuiteStep& step : steps) {
    const bool predicts = step.words[0] == "predict";
    if (!predicts && step.words[0] != "bench") continue;
    const auto* benchmark = predicts ? nullptr : family<bench::Benchmark>().find(step.words.at(1));
    ASSERT_TRUE(predicts || benchmark != nullptr) << step.name;
    EXPECT_EQ(option(step, "--cores-per-rank"), "4") << step.name;
    if (predicts || has_threads(*benchmark)) {
      EXPECT_EQ(option(step, "--threads"), "3") << step.name;
    }
  }
}

TEST(Suites, MeasureOneWorkerAndAllOfThem) {
  std::set<std::string> ranks;
  for (const SuiteStep& step : shipped_steps("5")) {
    if (step.words[0] != "bench") continue;
    const std::string expected = option(step, "--ranks");
    const std::string started = std::to_string(std::max(1, step.ranks));
    EXPECT_TRUE(expected == "none" || started == expected) << step.name;
    ranks.insert(started);
  }
  EXPECT_EQ(ranks, (std::set<std::string>{"1", "5"}));
}

}  // namespace
}  // namespace dlscale::app
