#include "regression/check/strip.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "histories.hpp"
#include "regression/check/check.hpp"

namespace dlscale::regression::history {
namespace {

using samples::commit_name;
using samples::kernel;
using samples::run_of;
using samples::TemporaryFolder;

SeriesKey on_library(const std::string& version) {
  SeriesKey key = kernel();
  key.environment["oneDNN"] = version;
  return key;
}

class Strips : public testing::Test {
 protected:
  Strips() : store_(samples::folder_store(folder_.path())) {}

  /// One run of each of the commits, with some noise around the level.
  void measure(const SeriesKey& key, int first, int last, double level, const Facts& facts = {}) {
    std::vector<ImportedRun> runs;
    for (int commit = first; commit <= last; ++commit) {
      runs.push_back(run_of({key}, commit, level * std::exp(noise_(generator_)), repeat_++));
      runs.back().facts = facts;
    }
    store_.add(runs);
  }
  [[nodiscard]] CheckReport look() {
    return check(store_, [](const SeriesKey&) { return true; });
  }
  [[nodiscard]] std::vector<Strip> strips(std::size_t most = 24) {
    return make_strips(store_, look(), {}, most);
  }

  TemporaryFolder folder_;
  Store store_;

 private:
  std::mt19937 generator_{7};
  std::normal_distribution<double> noise_{0, 0.005};
  int repeat_ = 0;
};

TEST_F(Strips, HaveTheChangesAndTheAlertsOfTheCheck) {
  measure(kernel(), 1, 20, 1.0);
  measure(kernel(), 21, 40, 1.1);
  const std::vector<Strip> all = strips();
  ASSERT_EQ(all.size(), 1U);
  const Strip& strip = all.front();
  EXPECT_EQ(strip.commits.size(), 40U);
  ASSERT_EQ(strip.found.changes.size(), 1U);
  EXPECT_EQ(strip.found.changes[0].after, 20U);
  EXPECT_EQ(strip.found.segments.size(), 2U);
  ASSERT_EQ(strip.marks.size(), 1U);
  EXPECT_EQ(strip.marks[0].at, 20U);
  EXPECT_EQ(strip.marks[0].kind, MarkKind::alert);
  EXPECT_EQ(strip.marks[0].text.substr(0, 11), "regressed +");
  EXPECT_NE(strip.marks[0].text.find("(new)"), std::string::npos);
}

TEST_F(Strips, GoOnWhereTheEnvironmentChangedAndSayWhichOne) {
  measure(on_library("2.6"), 1, 15, 1.0);
  measure(on_library("3.0"), 16, 30, 0.8);
  const std::vector<Strip> all = strips();
  ASSERT_EQ(all.size(), 1U);
  const Strip& strip = all.front();
  EXPECT_EQ(strip.series.size(), 2U);
  EXPECT_EQ(strip.key.environment.at("oneDNN"), "3.0");
  EXPECT_EQ(strip.commits.size(), 30U);
  EXPECT_TRUE(strip.found.changes.empty()) << "another environment is not a change of level";
  ASSERT_EQ(strip.found.segments.size(), 2U);
  EXPECT_EQ(strip.found.segments[1].first, 15U);
  ASSERT_EQ(strip.marks.size(), 1U);
  EXPECT_EQ(strip.marks[0].at, 15U);
  EXPECT_EQ(strip.marks[0].kind, MarkKind::environment);
  EXPECT_EQ(strip.marks[0].text, "oneDNN: 2.6 → 3.0");
}

TEST_F(Strips, OfEnvironmentsMeasuredSideBySideAreTwo) {
  measure(on_library("2.6"), 1, 15, 1.0);
  measure(on_library("3.0"), 2, 14, 0.8);
  EXPECT_EQ(strips().size(), 2U);
}

TEST_F(Strips, MarkAnnotationsOfChangesThatAreRaisedNoMoreAndBeginAnEpochThere) {
  measure(kernel(), 1, 20, 1.0);
  measure(kernel(), 21, 40, 1.1);
  const CheckReport report = look();
  ASSERT_EQ(report.alerts.size(), 1U);
  store_.annotate([&] {
    return Annotation{
        0, report.alerts[0].commit, AlertState::expected, {kernel().id()}, "f64 sums"};
  });
  const std::vector<Strip> all = strips();
  ASSERT_EQ(all.size(), 1U);
  ASSERT_EQ(all[0].marks.size(), 1U);
  EXPECT_EQ(all[0].marks[0].kind, MarkKind::annotation);
  EXPECT_EQ(all[0].marks[0].text, "expected: f64 sums");
  EXPECT_EQ(all[0].commits.at(all[0].marks[0].at).commit, report.alerts[0].commit);
  ASSERT_EQ(all[0].found.segments.size(), 2U);
  EXPECT_NEAR(all[0].found.segments[0].level, 1.0, 0.01);
  EXPECT_NEAR(all[0].found.segments[1].level, 1.1, 0.01);
}

TEST_F(Strips, MarkAnotherHostOrKernelAndOnlyCountThemWhereTheyAlternate) {
  measure(kernel(), 1, 10, 1.0, {{"host", "a"}, {"kernel", "6.1"}});
  measure(kernel(), 11, 20, 1.0, {{"host", "b"}, {"kernel", "6.1"}});
  std::vector<Strip> all = strips();
  ASSERT_EQ(all.size(), 1U);
  ASSERT_EQ(all[0].marks.size(), 1U);
  EXPECT_EQ(all[0].marks[0].at, 10U);
  EXPECT_EQ(all[0].marks[0].kind, MarkKind::machine);
  EXPECT_EQ(all[0].marks[0].text, "host: a → b");
  for (int commit = 21; commit <= 30; ++commit) {
    measure(kernel(), commit, commit, 1.0, {{"host", commit % 2 == 0 ? "b" : "a"}});
  }
  all = strips();
  EXPECT_TRUE(all[0].marks.empty());
  ASSERT_EQ(all[0].remarks.size(), 1U);
  EXPECT_EQ(all[0].remarks[0], "the host changed 11 times, which is not marked");
}

TEST_F(Strips, ShowWhatChangedMostFirstAndNoMoreThanAreWanted) {
  measure(kernel("quiet"), 1, 40, 1.0);
  for (const auto& [layer, ratio] : {std::pair{"some", 1.05}, std::pair{"most", 1.5}}) {
    measure(kernel(layer), 1, 20, 1.0);
    measure(kernel(layer), 21, 40, ratio);
  }
  std::vector<std::string> layers;
  for (const Strip& strip : strips()) layers.push_back(strip.key.axes.at("layer"));
  EXPECT_EQ(layers, (std::vector<std::string>{"most", "some", "quiet"}));
  EXPECT_EQ(strips(1).size(), 1U);
}

}  // namespace
}  // namespace dlscale::regression::history
