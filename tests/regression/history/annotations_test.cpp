// States of alerts, which people set.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>

#include "histories.hpp"
#include "measured_history.hpp"
#include "regression/check/check.hpp"

namespace dlscale::regression::history {
namespace {

using samples::commit_name;
using samples::kernel;

using Alerts = samples::MeasuredHistory;

TEST_F(Alerts, AcknowledgedAlertsFailNoMore) {
  measure(kernel(), 1, 30, 1.0);
  measure(kernel(), 31, 45, 1.1);
  const Alert alert = look().alerts.at(0);
  EXPECT_EQ(alert.state, AlertState::raised);
  for (const AlertState state :
       {AlertState::acknowledged, AlertState::fixed, AlertState::invalid}) {
    const CheckReport report = mark(alert, state);
    ASSERT_EQ(report.alerts.size(), 1U);
    EXPECT_EQ(report.alerts[0].state, state);
    EXPECT_EQ(report.alerts[0].note, "because");
    EXPECT_EQ(exit_code(report), ExitCode::ok);
  }
  EXPECT_EQ(exit_code(mark(alert, AlertState::raised)), ExitCode::regression);
}

TEST_F(Alerts, ItsAlertsAreInTheStateThatWasSaidLastInWhateverOrderBranchesWereMerged) {
  measure(kernel(), 1, 30, 1.0);
  measure(kernel(), 31, 45, 1.1);
  const Alert alert = look().alerts.at(0);
  const auto say = [&](std::int64_t time, AlertState state) {
    store_.annotate([&] {
      return Annotation{time, alert.commit, state, {alert.metrics[0].series}, ""};
    });
  };
  say(200, AlertState::invalid);
  say(100, AlertState::acknowledged);  // of the other branch, made before
  EXPECT_EQ(look().alerts.at(0).state, AlertState::invalid);
  say(300, AlertState::raised);
  say(250, AlertState::fixed);
  EXPECT_EQ(exit_code(look()), ExitCode::regression);
}

/// A second series changes at the same commit, or just after it, once the first is dealt with.
TEST_F(Alerts, AnAnnotationHasItsSeriesAlone) {
  for (const int first : {31, 32}) {
    const std::string late = "late" + std::to_string(first);
    if (first == 31) {
      measure(kernel("early"), 1, 30, 1.0);
      measure(kernel("early"), 31, 45, 1.1);
      EXPECT_EQ(exit_code(mark(look().alerts.at(0), AlertState::invalid)), ExitCode::ok);
    }
    measure(kernel(late), 1, first - 1, 1.0);
    measure(kernel(late), first, 45, 2.0);
    const CheckReport report = look();
    EXPECT_EQ(exit_code(report), ExitCode::regression) << first;
    const Alert& fresh = find_alert(report, commit_name(first));
    ASSERT_EQ(fresh.state, AlertState::raised);
    ASSERT_EQ(fresh.metrics.size(), 1U);
    EXPECT_EQ(fresh.metrics[0].key.axes.at("layer"), late);
    const CheckReport marked = mark(fresh, AlertState::acknowledged);
    EXPECT_EQ(exit_code(marked), ExitCode::ok) << first;
    EXPECT_EQ(find_alert(marked, commit_name(31)).state, AlertState::acknowledged);
  }
  std::map<std::string, AlertState> states;
  for (const Alert& alert : look().alerts) {
    for (const AlertMetric& metric : alert.metrics) {
      states[metric.key.axes.at("layer")] = alert.state;
    }
  }
  EXPECT_EQ(states, (std::map<std::string, AlertState>{{"early", AlertState::invalid},
                                                       {"late31", AlertState::acknowledged},
                                                       {"late32", AlertState::acknowledged}}));
}

TEST_F(Alerts, AnExpectedChangeBeginsANewEpochOfItsSeriesAlone) {
  measure(kernel("a"), 1, 30, 1.0);
  measure(kernel("a"), 31, 38, 1.5);
  measure(kernel("b"), 1, 38, 1.0);
  const CheckReport report = mark(look().alerts.at(0), AlertState::expected);
  EXPECT_TRUE(report.alerts.empty());
  ASSERT_EQ(report.series.size(), 2U);
  for (const SeriesCheck& series : report.series) {
    const bool is_a = series.key.axes.at("layer") == "a";
    EXPECT_EQ(series.epoch, is_a ? commit_name(31) : "");
    EXPECT_EQ(series.state, is_a ? SeriesState::new_baseline : SeriesState::as_before);
  }
}

TEST(AlertStates, GoForwardAndAreOpenedAgain) {
  EXPECT_TRUE(may_follow(AlertState::raised, AlertState::expected));
  EXPECT_TRUE(may_follow(AlertState::acknowledged, AlertState::fixed));
  EXPECT_FALSE(may_follow(AlertState::fixed, AlertState::acknowledged));
  EXPECT_FALSE(may_follow(AlertState::invalid, AlertState::fixed));
  EXPECT_FALSE(may_follow(AlertState::expected, AlertState::acknowledged));
  EXPECT_FALSE(may_follow(AlertState::raised, AlertState::raised));
  EXPECT_TRUE(may_follow(AlertState::invalid, AlertState::raised));
  EXPECT_THROW((void)parse_alert_state("solved"), ConfigError);
}

}  // namespace
}  // namespace dlscale::regression::history
