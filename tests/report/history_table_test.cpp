#include "report/history/history_table.hpp"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "regression/check/check.hpp"
#include "report/format/file_kind.hpp"
#include "report/format/format.hpp"
#include "report/history/history_verdicts.hpp"
#include "tests/regression/history/histories.hpp"
#include "tests/report/look_at.hpp"
#include "tests/report/series_of.hpp"

namespace dlscale::report {
namespace {

namespace history = regression::history;
using history::AlertState;
using history::CheckReport;
using history::SeriesKey;
namespace history_samples = history::samples;

/// A history in a folder of its own. Values have no noise but a little, which is always the same.
class HistoryTable : public testing::Test {
 protected:
  HistoryTable() : store_(history_samples::folder_store(folder_.path())) {}

  void measure(const SeriesKey& key, int first, int last, double level) {
    std::vector<history::ImportedRun> runs;
    for (int commit = first; commit <= last; ++commit) {
      const double value = level * (1 + 0.001 * ((commit * 7) % 5));
      runs.push_back(history_samples::run_of({key}, commit, value, repeat_++));
    }
    store_.add(runs);
  }
  [[nodiscard]] CheckReport look() {
    return history::check(store_, [](const SeriesKey&) { return true; });
  }
  void mark(AlertState state) {
    const CheckReport report = look();
    history::Annotation annotation{0, report.alerts.at(0).commit, state, {}, "bug 12"};
    for (const auto& metric : report.alerts.at(0).metrics) {
      annotation.series.push_back(metric.series);
    }
    std::ranges::sort(annotation.series);
    store_.annotate([&] { return annotation; });
  }
  [[nodiscard]] std::string written(const char* format) {
    return format::find_format(format).write(history_check_document(look()), {});
  }

 private:
  history_samples::TemporaryFolder folder_;
  history::Store store_;
  int repeat_ = 0;
};

SeriesKey training_key(const char* metric) {
  SeriesKey key = history_samples::kernel();
  key.suite = "e2e";
  key.metric = metric;
  return key;
}

TEST_F(HistoryTable, HasAJunitCaseForEachSeriesThatIsJudged) {
  measure(history_samples::kernel("same"), 1, 45, 1.0);
  measure(history_samples::kernel("slower"), 1, 30, 1.0);
  measure(history_samples::kernel("slower"), 31, 45, 1.2);
  measure(history_samples::kernel("faster"), 1, 30, 1.0);
  measure(history_samples::kernel("faster"), 31, 45, 0.8);
  measure(history_samples::kernel("new"), 44, 45, 1.0);
  measure(training_key("t_iter"), 1, 45, 1.0);
  measure(training_key("t_f"), 1, 45, 1.0);
  CheckReport report = look();
  const auto junit = [&report] {
    return format::find_format("junit").write(history_check_document(report), {});
  };
  EXPECT_EQ(exit_code(report), ExitCode::regression);
  EXPECT_TRUE(contains(junit(), R"(tests="5" failures="1" errors="0" skipped="1")")) << junit();
  EXPECT_TRUE(contains(junit(), R"(name="conv batch=8 layer=slower: time: )")) << junit();
  EXPECT_TRUE(contains(junit(), "commit=c0031, before=c0030")) << junit();
  EXPECT_FALSE(contains(junit(), "t_f"));
  report.alerts.at(0).state = AlertState::acknowledged;
  EXPECT_EQ(exit_code(report), ExitCode::ok);
  EXPECT_TRUE(contains(junit(), R"(tests="5" failures="0" errors="0" skipped="1")")) << junit();
}

TEST_F(HistoryTable, SkipsInJunitWhatHasToBeRunAgain) {
  measure(history_samples::kernel(), 1, 30, 1.0);
  measure(history_samples::kernel(), 31, 31, 1.5);
  const std::string text = written("junit");
  EXPECT_TRUE(contains(text, R"(tests="1" failures="0" errors="0" skipped="1")")) << text;
  EXPECT_TRUE(contains(text, R"(<skipped message="inconclusive"/>)")) << text;
  EXPECT_EQ(exit_code(look()), ExitCode::inconclusive);
}

TEST_F(HistoryTable, HasTheRatioInItsInterval) {
  measure(history_samples::kernel(), 1, 40, 100);
  measure(history_samples::kernel(), 41, 60, 100.8);
  measure(history_samples::kernel(), 61, 72, 110);
  const CheckReport report = look();
  ASSERT_EQ(report.alerts.size(), 1U);
  history::AlertMetric metric = report.alerts[0].metrics.at(0);
  EXPECT_EQ(level_ratio(metric).value, metric.ratio);
  metric.ratio = 1.5;  // medians of levels may lie beyond all pairs of commits
  const LevelRatio ratio = level_ratio(metric);
  ASSERT_TRUE(ratio.ends);
  EXPECT_LE(ratio.ends->front(), ratio.value);
  EXPECT_LE(ratio.value, ratio.ends->back());
  EXPECT_NEAR(ratio.value, 1.1, 0.01);
  EXPECT_EQ(change_text(metric), signed_percent(ratio.value - 1));
  metric.values_after.front() = 0;
  EXPECT_FALSE(level_ratio(metric).ends);
  EXPECT_EQ(level_ratio(metric).value, 1.5);
}

TEST_F(HistoryTable, NamesTheLargestChangeThatFailsTheCheck) {
  for (const auto& [layer, level] : {std::pair{"faster", 0.5}, std::pair{"slower", 1.2}}) {
    measure(history_samples::kernel(layer), 1, 30, 1.0);
    measure(history_samples::kernel(layer), 31, 45, level);
  }
  CheckReport report = look();
  ASSERT_EQ(report.alerts.size(), 1U);
  ASSERT_TRUE(largest_failing(report).metric);
  EXPECT_NEAR(largest_failing(report).metric->ratio, 1.2, 0.01);
  EXPECT_TRUE(contains(history_check_document(report).lead, ": +20.0 % (95 % interval "))
      << history_check_document(report).lead;
  for (history::AlertMetric& metric : report.alerts[0].metrics) {
    if (metric.movement != regression::Verdict::improved) metric.ending = history::Ending::faded;
  }
  EXPECT_EQ(largest_failing(report).metric, nullptr);
}

TEST_F(HistoryTable, SaysThatNothingCanBeJudgedOfTooFewCommits) {
  measure(history_samples::kernel("a"), 1, 3, 1.0);
  measure(history_samples::kernel("b"), 1, 3, 1.0);
  EXPECT_EQ(history_check_document(look()).lead,
            "Not judged: all 2 series have too few commits");
  EXPECT_EQ(exit_code(look()), ExitCode::ok);
  measure(history_samples::kernel("c"), 1, 30, 1.0);
  EXPECT_EQ(nothing_judged(look()), "");
}

TEST_F(HistoryTable, FailsInJunitForAPredictionWhicheverWayItMoves) {
  SeriesKey key = history_samples::kernel();
  key.direction = regression::Direction::steady;
  key.unit = "1";
  measure(key, 1, 30, 1.0);
  measure(key, 31, 45, 0.8);
  EXPECT_TRUE(contains(written("junit"), R"(<failure message="shifted" type="shifted">)"));
  EXPECT_TRUE(contains(written("comment"), "| shifted |")) << written("comment");
}

TEST_F(HistoryTable, HasTheSameMetricsInQuietNightsAndOthers) {
  measure(history_samples::kernel(), 1, 30, 1.0);
  const std::string quiet = written("openmetrics");
  const std::set<std::string> known = series_of(history_check_document(look()));
  EXPECT_TRUE(contains(quiet, R"(verdict="as before"} 1)")) << quiet;
  EXPECT_TRUE(contains(quiet, R"(verdict="regressed"} 0)")) << quiet;
  measure(history_samples::kernel(), 31, 45, 1.5);
  const std::string slower = written("openmetrics");
  EXPECT_TRUE(contains(slower, R"(verdict="regressed"} 1)")) << slower;
  EXPECT_TRUE(contains(slower, "_ratio{")) << slower;
  const std::set<std::string> found = series_of(history_check_document(look()));
  EXPECT_TRUE(std::ranges::includes(found, known)) << slower;
}

TEST_F(HistoryTable, OpensInACommentWhatIsNewAndFoldsTheRest) {
  measure(training_key("t_iter"), 1, 30, 1.0);
  measure(training_key("t_iter"), 31, 45, 1.2);
  measure(training_key("t_f"), 1, 30, 0.5);
  measure(training_key("t_f"), 31, 45, 0.9);
  CheckReport report = look();
  for (auto& metric : report.alerts.at(0).metrics) {
    if (!metric.key.is_detail()) metric.explanation = "iteration +20.0 %: +20.0 % forward";
  }
  const std::string open = format::find_format("comment").write(history_check_document(report), {});
  EXPECT_TRUE(open.starts_with("<!-- dlscale -->\n1 regression in ")) << open;
  const std::size_t folded = open.find("<details>");
  const std::string_view shown = std::string_view(open).substr(0, folded);
  EXPECT_TRUE(contains(std::string(shown), "t_iter")) << open;
  EXPECT_TRUE(contains(std::string(shown), "+20.0 % forward")) << open;
  EXPECT_FALSE(contains(std::string(shown), "t_f")) << open;
  EXPECT_TRUE(contains(open, "1 regressed (detail)</summary>")) << open;
  mark(AlertState::acknowledged);
  const std::string known = written("comment");
  EXPECT_TRUE(known.starts_with("<!-- dlscale -->\nNo new regression in ")) << known;
  EXPECT_TRUE(contains(known, "acknowledged: 1 regressed (detail), 1 regressed (acknowledged)"))
      << known;
  EXPECT_LT(known.find("<details>"), known.find("bug 12")) << known;
}

TEST_F(HistoryTable, KeepsACommentWithinWhatACodeHostTakes) {
  CheckReport report;
  history::Alert alert;
  alert.commit = "c2";
  alert.before = "c1";
  for (int layer = 0; layer < 250; ++layer) {
    history::AlertMetric metric;
    metric.key = history_samples::kernel(fmt::format("layer{}-{}", layer, std::string(200, 'x')));
    metric.series = metric.key.id();
    metric.before = 1;
    metric.after = metric.ratio = 1.1 + 0.001 * layer;
    alert.metrics.push_back(metric);
    report.environments.push_back({fmt::format("c{}", layer), 0, std::string(100, 'x'), 1});
  }
  report.alerts = {alert, alert};
  const std::string text =
      format::file_text(format::find_format("comment"), history_check_document(report));
  EXPECT_LE(text.size(), 65'536U);
  EXPECT_TRUE(contains(text, "layer=layer249-"));
  EXPECT_TRUE(contains(text, " more: the page of "));
  EXPECT_FALSE(contains(text, "0 rows do not fit")) << text.substr(text.size() - 2000);
}

TEST_F(HistoryTable, ShowsTheFirstPartOfALongNameAndItsLength) {
  for (const std::string& letter : {"a", "é", "漢"}) {
    std::string long_name;
    while (long_name.size() < 30'000) long_name += letter;
    measure(history_samples::kernel(long_name), 1, 30, 1.0);
    measure(history_samples::kernel(long_name), 31, 45, 1.5);
  }
  for (const char* format : {"table", "markdown"}) {
    const std::string text = written(format);
    EXPECT_LT(text.size(), 20'000U) << format;
    EXPECT_NE(text.find("bytes)"), std::string::npos) << format;
  }
  EXPECT_EQ(shown_name("conv1"), "conv1");
  EXPECT_EQ(shown_name(std::string(299, 'a') + "é"), std::string(299, 'a') + "… (301 bytes)");
}

}  // namespace
}  // namespace dlscale::report
