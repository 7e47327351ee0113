#include "regression/check/check.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "histories.hpp"
#include "measured_history.hpp"
#include "regression/history/listing.hpp"

namespace dlscale::regression::history {
namespace {

using samples::commit_name;
using samples::kernel;
using samples::run_of;

using History = samples::MeasuredHistory;

TEST_F(History, OfFewCommitsIsANewBaselineAndNeverARegression) {
  measure(kernel(), 1, 5, 1.0);
  measure(kernel(), 6, 9, 3.0);
  const CheckReport report = look();
  ASSERT_EQ(report.series.size(), 1U);
  EXPECT_EQ(report.series[0].state, SeriesState::new_baseline);
  EXPECT_TRUE(report.alerts.empty());
  EXPECT_EQ(exit_code(report), ExitCode::ok);
}

TEST_F(History, WithoutAChangeRaisesNothing) {
  measure(kernel(), 1, 40, 1.0);
  const CheckReport report = look();
  EXPECT_EQ(report.series[0].state, SeriesState::as_before);
  EXPECT_TRUE(report.alerts.empty());
  EXPECT_EQ(exit_code(report), ExitCode::ok);
}

TEST_F(History, WantsTwoFreshRunsOfACommitThatIsBeyondAndBelievesTwoOfThree) {
  measure(kernel(), 1, 30, 1.0);
  measure_once(kernel(), 31, 1.2);
  flush();
  CheckReport report = look();
  EXPECT_EQ(report.series[0].state, SeriesState::needs_reruns);
  EXPECT_EQ(exit_code(report), ExitCode::inconclusive);
  ASSERT_EQ(report.reruns.size(), 1U);
  EXPECT_EQ(report.reruns[0].commit, commit_name(31));
  EXPECT_EQ(report.reruns[0].runs, 2U);
  measure_once(kernel(), 31, 1.0);
  measure_once(kernel(), 31, 1.19);
  flush();
  report = look();
  ASSERT_EQ(report.alerts.size(), 1U);
  EXPECT_EQ(report.alerts[0].commit, commit_name(31));
  EXPECT_EQ(report.alerts[0].before, commit_name(30));
  EXPECT_EQ(report.alerts[0].metrics[0].movement, Verdict::regressed);
  EXPECT_EQ(exit_code(report), ExitCode::regression);
}

TEST_F(History, ForgetsAnOutlierThatRerunsDoNotShow) {
  measure(kernel(), 1, 30, 1.0);
  measure_once(kernel(), 31, 1.2);
  measure_once(kernel(), 31, 1.0);
  measure_once(kernel(), 31, 1.001);
  flush();
  EXPECT_EQ(exit_code(look()), ExitCode::ok);
}

TEST_F(History, IsOneAlertFromTheFirstCommitOnHoweverManyFollow) {
  measure(kernel(), 1, 30, 1.0);
  for (int more = 1; more <= 12; ++more) {
    measure(kernel(), 30 + more, 30 + more, 1.1);
    const CheckReport report = look();
    if (more == 1) {
      EXPECT_EQ(exit_code(report), ExitCode::inconclusive);
      continue;
    }
    EXPECT_EQ(exit_code(report), ExitCode::regression) << more;
    ASSERT_EQ(report.alerts.size(), 1U) << more;
    EXPECT_EQ(report.alerts[0].commit, commit_name(31)) << more;
    EXPECT_NEAR(report.alerts[0].metrics[0].ratio, 1.1, 0.03) << more;
  }
}

// Whatever follows, an alert that nobody annotates goes on failing.
TEST_F(History, AnAlertStaysHoweverManyCommitsFollow) {
  measure(kernel(), 1, 20, 1.0);
  measure(kernel(), 21, 250, 1.1);
  const CheckReport report = look();
  ASSERT_EQ(report.alerts.size(), 1U);
  EXPECT_EQ(report.alerts[0].commit, commit_name(21));
  EXPECT_EQ(exit_code(report), ExitCode::regression);
}

TEST_F(History, AnAlertWhoseLevelWentBackFailsNoMoreAndSaysSo) {
  measure(kernel(), 1, 30, 1.0);
  measure(kernel(), 31, 45, 1.1);
  EXPECT_EQ(exit_code(look()), ExitCode::regression);
  measure(kernel(), 46, 60, 1.0);
  const CheckReport report = look();
  ASSERT_EQ(report.alerts.size(), 2U);
  EXPECT_EQ(report.alerts[1].metrics[0].ending, Ending::went_back);
  EXPECT_EQ(report.alerts[1].metrics[0].ended_by, commit_name(46));
  EXPECT_TRUE(report.alerts[1].has_ended());
  EXPECT_EQ(exit_code(report), ExitCode::ok);
}

TEST_F(History, AnAlertBeforeAnExpectedChangeIsOvertakenAndSaysSo) {
  measure(kernel(), 1, 30, 1.0);
  measure(kernel(), 31, 45, 1.1);
  measure(kernel(), 46, 60, 1.4);
  const CheckReport report = mark(look().alerts.at(0), AlertState::expected);
  ASSERT_EQ(report.alerts.size(), 1U);
  EXPECT_EQ(report.alerts[0].commit, commit_name(31));
  EXPECT_EQ(report.alerts[0].metrics[0].ending, Ending::overtaken);
  EXPECT_EQ(report.alerts[0].metrics[0].ended_by, commit_name(46));
  EXPECT_EQ(exit_code(report), ExitCode::ok);
}

TEST_F(History, SaysWhereThreeRunsHaveToShowAChange) {
  measure(kernel("short"), 17, 31, 1.0);
  measure(kernel("long"), 1, 31, 1.0);
  for (const char* name : {"short", "long"}) measure_once(kernel(name), 32, 1.2);
  flush();
  const CheckReport report = look();
  ASSERT_EQ(report.reruns.size(), 1U);
  EXPECT_EQ(report.reruns[0].series.size(), 2U);
  EXPECT_EQ(report.reruns[0].short_series, 1U);
}

// Two metrics of one cause may stand out some commits apart.
TEST_F(History, JoinsAChangeToTheAlertOfACommitThatMayBeItsOwn) {
  measure(kernel("clear"), 1, 40, 1.0);
  measure(kernel("clear"), 41, 80, 1.2);
  measure(kernel("faint"), 1, 40, 1.0);
  measure(kernel("faint"), 41, 80, 1.02);
  const CheckReport report = look();
  ASSERT_EQ(report.alerts.size(), 1U);
  EXPECT_EQ(report.alerts[0].commit, commit_name(41));
  EXPECT_EQ(report.alerts[0].metrics.size(), 2U);
}

/// Values of a text: multiples of twice the rounding.
class RoundedHistory : public History,
                       public testing::WithParamInterface<std::pair<double, double>> {
 protected:
  [[nodiscard]] ExitCode check_after(double before, double after) {
    constexpr double rounding = 0.005;
    SeriesKey key = kernel("algbw");
    key.direction = Direction::larger_is_better;
    std::vector<ImportedRun> runs;
    for (int commit = 1; commit <= 16; ++commit) {
      runs.push_back(run_of({key}, commit, commit <= 12 ? before : after, commit));
      runs.back().points[0].point.rounding = rounding;
    }
    store_.add(runs);
    return exit_code(look());
  }
};
INSTANTIATE_TEST_SUITE_P(LastDigits, RoundedHistory,
                         testing::Values(std::pair{0.02, 0.01}, std::pair{0.01, 0.00},
                                         std::pair{0.13, 0.12}, std::pair{0.03, 0.02}));
TEST_P(RoundedHistory, IsNotRegressedByItsLastDigit) {
  const auto& [before, after] = GetParam();
  EXPECT_EQ(check_after(before, after), ExitCode::ok);
}
TEST_P(RoundedHistory, IsRegressedBeyondItsLastDigit) {
  const auto& [before, after] = GetParam();
  EXPECT_EQ(check_after(10 * before, 4 * before + after), ExitCode::regression);
}

/// The text of one night among JSON with all digits.
TEST_F(History, AsksForRerunsHoweverCoarseOnePointOfItIs) {
  for (int commit = 1; commit <= 30; ++commit) measure_once(kernel(), commit, noisy(0.0224));
  flush();
  ImportedRun coarse = run_of({kernel()}, 3, 0.02, 1000);
  coarse.points[0].point.rounding = 0.005;
  store_.add(std::vector{coarse});
  measure_once(kernel(), 31, 0.0291);
  flush();
  EXPECT_EQ(look().series.at(0).state, SeriesState::needs_reruns);
}

TEST_F(History, AttachesAllMetricsOfACommitToOneAlert) {
  SeriesKey rate = kernel("rate");
  rate.direction = Direction::larger_is_better;
  rate.unit = "B/s";
  measure(kernel("a"), 1, 30, 1.0);
  measure(kernel("a"), 31, 45, 1.1);
  measure(kernel("b"), 1, 30, 5.0);
  measure(kernel("b"), 31, 45, 6.0);
  measure(kernel("still"), 1, 45, 5.0);
  measure(rate, 1, 30, 1e9);
  measure(rate, 31, 45, 2e9);
  const CheckReport report = look();
  ASSERT_EQ(report.alerts.size(), 1U);
  EXPECT_EQ(report.alerts[0].metrics.size(), 3U);
  int improved = 0;
  for (const AlertMetric& metric : report.alerts[0].metrics) {
    improved += metric.movement == Verdict::improved ? 1 : 0;
    EXPECT_EQ(metric.movement == Verdict::improved,
              metric.key.direction == Direction::larger_is_better);
  }
  EXPECT_EQ(improved, 1);
}

TEST_F(History, ImprovementsNeverFail) {
  measure(kernel(), 1, 30, 1.0);
  measure(kernel(), 31, 45, 0.8);
  const CheckReport report = look();
  ASSERT_EQ(report.alerts.size(), 1U);
  EXPECT_EQ(report.alerts[0].metrics[0].movement, Verdict::improved);
  EXPECT_EQ(exit_code(report), ExitCode::ok);
}

TEST_F(History, OfAPredictionFailsWhicheverWayItMoves) {
  SeriesKey key = kernel();
  key.suite = "prediction";
  key.direction = Direction::steady;
  key.unit = "1";
  measure(key, 1, 30, 1.0);
  measure(key, 31, 45, 0.9);
  const CheckReport report = look();
  ASSERT_EQ(report.alerts.size(), 1U);
  EXPECT_EQ(report.alerts[0].metrics[0].movement, Verdict::shifted);
  EXPECT_EQ(exit_code(report), ExitCode::regression);
}

TEST_F(History, DetailsComeWithAnAlertAndRaiseNone) {
  SeriesKey iteration = kernel();
  iteration.suite = "e2e";
  iteration.metric = "t_iter";
  SeriesKey phase = iteration;
  phase.metric = "t_comm_exposed";
  measure(phase, 1, 30, 1.0);
  measure(phase, 31, 45, 2.0);
  measure(iteration, 1, 45, 10.0);
  EXPECT_TRUE(look().alerts.empty());
  SeriesKey other = iteration;
  other.axes["layer"] = "another";
  measure(other, 1, 30, 10.0);
  measure(other, 31, 45, 11.0);
  const CheckReport report = look();
  ASSERT_EQ(report.alerts.size(), 1U);
  EXPECT_EQ(report.alerts[0].metrics.size(), 2U);
}

TEST_F(History, AnotherEnvironmentIsANewBaselineAndIsToldOf) {
  measure(kernel("a"), 1, 30, 1.0);
  measure(kernel("b"), 1, 30, 1.0);
  for (const char* layer : {"a", "b"}) {
    SeriesKey later = kernel(layer);
    later.environment["oneDNN"] = "3.0";
    measure(later, 31, 50, 2.0);
  }
  const CheckReport report = look();
  EXPECT_TRUE(report.alerts.empty());
  ASSERT_EQ(report.environments.size(), 1U);
  EXPECT_EQ(report.environments[0].what, "oneDNN: 2.6.3 → 3.0");
  EXPECT_EQ(report.environments[0].series, 2U);
  EXPECT_EQ(report.environments[0].commit, commit_name(31));
}

TEST_F(History, OfWhatIsNotMeasuredAnyMoreWantsNoReruns) {
  measure(kernel("gone"), 1, 30, 1.0);
  measure_once(kernel("gone"), 31, 1.5);
  measure(kernel("stays"), 1, 40, 1.0);
  const CheckReport report = look();
  EXPECT_TRUE(report.reruns.empty());
  for (const SeriesCheck& series : report.series) {
    EXPECT_EQ(series.state == SeriesState::ended, series.key.axes.at("layer") == "gone");
  }
}

TEST_F(History, AsksForRerunsOnAMachineWhoeverElseIsFurther) {
  SeriesKey other = kernel();
  other.machine["cpu"] = "another processor";
  SeriesKey ranks = kernel();
  ranks.launch["ranks"] = "2";
  measure(kernel(), 1, 30, 1.0);
  measure_once(kernel(), 31, 1.5);
  measure(other, 1, 33, 1.0);
  measure(ranks, 1, 32, 1.0);
  const CheckReport report = look();
  EXPECT_EQ(exit_code(report), ExitCode::inconclusive);
  ASSERT_EQ(report.reruns.size(), 1U);
  EXPECT_EQ(report.reruns[0].commit, commit_name(31));
  for (const SeriesCheck& series : report.series) EXPECT_NE(series.state, SeriesState::ended);
}

TEST_F(History, AsksForNoRerunsOnAMachineThatIsMeasuredNoMore) {
  SeriesKey other = kernel();
  other.machine["cpu"] = "another processor";
  measure(kernel(), 1, 30, 1.0);
  measure_once(kernel(), 31, 1.5);
  measure(other, 1, 40, 1.0);
  EXPECT_EQ(exit_code(look()), ExitCode::inconclusive);
  measure(other, 41, 41, 1.0);
  const CheckReport report = look();
  EXPECT_EQ(exit_code(report), ExitCode::ok);
  for (const SeriesCheck& series : report.series) {
    EXPECT_EQ(series.state == SeriesState::ended, series.key.machine == kernel().machine);
  }
}

TEST_F(History, ThatJumpsBetweenTwoLevelsIsBimodalAndRaisesNothing) {
  for (int block = 0; block < 7; ++block) {
    measure(kernel(), 10 * block + 1, 10 * block + 10, block % 2 == 0 ? 1.0 : 1.5);
  }
  const CheckReport report = look();
  EXPECT_EQ(report.series[0].state, SeriesState::bimodal);
  ASSERT_GE(report.series[0].modes.size(), 2U);
  EXPECT_NEAR(report.series[0].modes.front(), 1.0, 0.05);
  EXPECT_NEAR(report.series[0].modes.back(), 1.5, 0.05);
  EXPECT_EQ(exit_code(report), ExitCode::ok);
}

TEST_F(History, ThatJumpsBetweenTwoLevelsIsAskedForRerunsOfANewOneAndThenFails) {
  for (int block = 0; block < 6; ++block) {
    measure(kernel(), 12 * block + 1, 12 * block + 12, block % 2 == 0 ? 1.0 : 1.1);
  }
  EXPECT_EQ(exit_code(look()), ExitCode::ok);
  measure_once(kernel(), 73, 2.0);
  flush();
  CheckReport report = look();
  EXPECT_EQ(report.series[0].state, SeriesState::needs_reruns);
  EXPECT_EQ(exit_code(report), ExitCode::inconclusive);
  for (int commit = 74; commit <= 92; ++commit) {
    measure(kernel(), commit, commit, 2.0);
    report = look();
    ASSERT_EQ(exit_code(report), ExitCode::regression) << commit;
    const auto goes_on = [](const Alert& alert) { return !alert.has_ended(); };
    ASSERT_EQ(std::ranges::count_if(report.alerts, goes_on), 1) << commit;
    EXPECT_EQ(report.alerts[0].commit, commit_name(73)) << commit;
    // Of fewer than five commits at a level no segment is made, and they blur the others.
    if (commit >= 77) {
      EXPECT_EQ(report.series[0].modes.size(), 2U) << commit;
    }
  }
  EXPECT_EQ(exit_code(mark(report.alerts[0], AlertState::expected)), ExitCode::ok);
}

// The newest commit is judged by those of its level, not by the distance between the levels.
TEST_F(History, ThatJumpsHasTheNoiseOfALevelNotOfTheJumps) {
  for (int block = 0; block < 6; ++block) {
    measure(kernel(), 12 * block + 1, 12 * block + 12, block % 2 == 0 ? 1.0 : 1.5);
  }
  for (int repeat = 0; repeat < 3; ++repeat) measure_once(kernel(), 73, 1.65);
  flush();
  EXPECT_EQ(exit_code(look()), ExitCode::regression);
}

TEST_F(History, RerunsOfAnOldCommitStayWhereItStands) {
  measure(kernel(), 1, 40, 1.0);
  ImportedRun late = run_of({kernel()}, 20, 1.3, 99);
  late.time = samples::commit_time(60);
  late.points[0].point.time = late.time;
  store_.add(std::vector{late});
  const CheckReport report = look();
  EXPECT_EQ(report.series[0].newest.commit, commit_name(40));
  EXPECT_EQ(report.series[0].commits, 40U);
  EXPECT_EQ(report.series[0].points, 41U);
}

TEST_F(History, FindsAlertsByTheBeginningOfTheirCommit) {
  measure(kernel(), 1, 30, 1.0);
  measure(kernel(), 31, 45, 1.1);
  measure(kernel(), 46, 60, 1.3);
  const CheckReport report = look();
  ASSERT_EQ(report.alerts.size(), 2U);
  EXPECT_EQ(report.alerts[0].commit, commit_name(46));
  EXPECT_EQ(&find_alert(report, "c0031"), &report.alerts[1]);
  EXPECT_THROW((void)find_alert(report, "c00"), ConfigError);
  EXPECT_THROW((void)find_alert(report, "d"), ConfigError);
  EXPECT_THROW((void)find_alert(report, ""), ConfigError);
}

TEST_F(History, SaysWhereNothingIsLookedFor) {
  measure(kernel(), 1, 3, 1.0);
  const auto none = [](const SeriesKey&) { return false; };
  try {
    (void)check(store_, none);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::nothing_measured);
  }
  EXPECT_THROW((void)list(store_, {none, {}, 1}), Error);
}

TEST_F(History, ListsTheLatestCommitsAndTheirLevel) {
  measure(kernel(), 1, 30, 1.0);
  measure(kernel(), 31, 45, 2.0);
  const auto all = [](const SeriesKey&) { return true; };
  const std::vector<ListedSeries> rows = list(store_, {all, {}, 3});
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].commits, 45U);
  ASSERT_EQ(rows[0].latest.size(), 3U);
  EXPECT_EQ(rows[0].latest[2].commit, commit_name(45));
  ASSERT_TRUE(rows[0].level);
  EXPECT_NEAR(*rows[0].level, 2.0, 0.05);
  const auto since = list(store_, {all, samples::commit_time(44), 30});
  EXPECT_EQ(since[0].latest.size(), 2U);
}

}  // namespace
}  // namespace dlscale::regression::history
