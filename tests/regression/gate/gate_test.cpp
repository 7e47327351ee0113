// What a gate decides from its rounds: examples, and properties of random sessions.
#include "regression/gate/gate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "core/base/statistics.hpp"
#include "gate_rounds.hpp"
#include "noise_models.hpp"

namespace dlscale::regression {
namespace {

using testing::HasSubstr;

TEST(GateSession, OfAnotherNumberOfRanksEndsAtOnceWithTheCodeOfABrokenRun) {
  Gate gate(GateRule{}, 4);
  gate.add(round_of(1, 1, 1));
  const GateReport& report = gate.verdict();
  EXPECT_TRUE(report.invalid);
  EXPECT_FALSE(gate.wants_more());
  EXPECT_EQ(exit_code(report, {}), ExitCode::wrong_result);
  EXPECT_EQ(exit_code(report, {.inconclusive = GateExit::Inconclusive::passes}),
            ExitCode::wrong_result);
  EXPECT_THAT(report.notes.at(0), HasSubstr("base ran on 2 ranks, not 4"));
  EXPECT_FALSE(verdict_on(rounds_of(1, 1, 1), {}, 2).invalid);
}

TEST(GateSession, OfTwoPlacesOrProgramsEndsAtOnce) {
  std::vector<Round> rounds = rounds_of(2, 1, 1);
  EXPECT_TRUE(wants_more(rounds));
  rounds[1].runs[changed_arm].machine["host"] = "there";
  EXPECT_FALSE(wants_more(rounds));
  EXPECT_THAT(verdict_on(rounds).notes.at(0), HasSubstr("host: \"here\" and \"there\""));
  rounds = rounds_of(2, 1, 1);
  rounds[1].runs[base_arm].program["build"] = "another";
  EXPECT_TRUE(verdict_on(rounds).invalid);
}

/// Rounds of a program that prints whole nanoseconds.
std::vector<Round> printed_rounds(int count, double base_ns, double changed_ns) {
  std::vector<Round> rounds = rounds_of(count, base_ns * 1e-9, changed_ns * 1e-9);
  for (Round& round : rounds) {
    for (auto& [arm, run] : round.runs) run.values[0].rounding = 0.5e-9;
  }
  return rounds;
}

TEST(GateVerdict, SaysWhichChangesTheDigitsOfItsValuesHideAndAsksForNoMoreRounds) {
  const std::vector<Round> coarse = printed_rounds(10, 2, 3);
  const GateReport report = verdict_on(coarse);
  EXPECT_EQ(report.verdict, Verdict::inconclusive);
  EXPECT_EQ(report.metrics.at(0).note, "printed to 1 ns, so changes below 50 % cannot be seen");
  EXPECT_THAT(report.notes.at(0), HasSubstr("1 metric hide changes of the margin"));
  EXPECT_FALSE(wants_more(coarse));
  EXPECT_TRUE(wants_more(printed_rounds(9, 2, 3)));
  const GateReport read = gate_report_of(to_json(report), "x");
  EXPECT_EQ(read.metrics.at(0).rounding, 0.5e-9);
  EXPECT_EQ(verdict_on(printed_rounds(10, 2, 6)).verdict, Verdict::regressed);
  const GateReport fine = verdict_on(printed_rounds(10, 5000, 5000));
  EXPECT_EQ(fine.verdict, Verdict::not_regressed);
  EXPECT_EQ(fine.metrics.at(0).note, "");
}

/// Rounds of two metrics, whose new version takes the times `first` and `second` of 1.
std::vector<Round> rounds_of_two(double first, double second) {
  std::vector<Round> rounds = rounds_of(10, 1, first);
  for (Round& round : rounds) {
    for (const char* arm : {base_arm, changed_arm}) {
      RunValue other = round.runs[arm].values[0];
      other.key = "triad";
      other.value = std::string(arm) == base_arm ? 1 : second;
      round.runs[arm].values.push_back(other);
    }
  }
  return rounds;
}

TEST(GateVerdict, IsAsBadAsItsWorstMetric) {
  EXPECT_EQ(verdict_on(rounds_of_two(1.1, 0.9)).verdict, Verdict::regressed);
  EXPECT_EQ(verdict_on(rounds_of_two(0.9, 0.9)).verdict, Verdict::improved);
  EXPECT_EQ(verdict_on(rounds_of_two(0.9, 1.0)).verdict, Verdict::improved);
  EXPECT_EQ(verdict_on(rounds_of_two(1.001, 1.0)).verdict, Verdict::not_regressed);
  std::vector<Round> rounds = rounds_of_two(0.9, 1.001);
  for (Round& round : rounds) {  // the second metric wavers
    round.runs[changed_arm].values[1].value = round.number % 2 == 0 ? 0.9 : 1.1;
  }
  EXPECT_EQ(verdict_on(rounds).verdict, Verdict::inconclusive);
  EXPECT_EQ(verdict_on({}).verdict, Verdict::inconclusive);
}

/// A minimum lies below the median of the same times, although nothing changed.
TEST(GateVerdict, ComparesNoStatisticsThatDiffer) {
  for (const RunStatistic statistic : {RunStatistic::median, RunStatistic::single}) {
    std::vector<Round> rounds = rounds_of_two(1.1, 1.0);
    for (Round& round : rounds) round.runs[changed_arm].values[0].statistic = statistic;
    const GateReport report = verdict_on(rounds);
    ASSERT_EQ(report.metrics.size(), 1U);
    EXPECT_EQ(report.verdict, Verdict::not_regressed);
    ASSERT_EQ(report.missing.size(), 1U);
    EXPECT_EQ(report.missing[0].key, "gemm");
    EXPECT_NE(report.notes.at(0).find("gemm time was not compared: in round"), std::string::npos)
        << report.notes.at(0);
    EXPECT_NE(report.notes.at(0).find("the base gives the minimum of its times"),
              std::string::npos);
  }
}

TEST(GateReport, IsInvalidInItsFileToo) {
  const GateReport report = verdict_on(rounds_of(1, 1, 1), {}, 4);
  EXPECT_TRUE(gate_report_of(to_json(report), "x").invalid);
}

TEST(GateMetrics, ShowBaseAndNewOfTheRoundsThatDecided) {
  // The first ten say 10 % faster, and decide; what comes after is of no account for that metric.
  std::vector<Round> rounds = rounds_of(10, 1, 0.9);
  for (int i = 11; i <= 40; ++i) rounds.push_back(round_of(i, 1, 3));
  const GateReport report = verdict_on(rounds);
  EXPECT_EQ(report.metrics.at(0).rounds, 10);
  EXPECT_EQ(report.metrics.at(0).verdict, Verdict::improved);
  EXPECT_NEAR(report.metrics.at(0).base, 1, 1e-12);
  EXPECT_NEAR(report.metrics.at(0).changed, 0.9, 1e-12);
  EXPECT_EQ(report.metrics.at(0).pairs.size(), 40U);
}

TEST(GateFiles, AreComparedOneByOne) {
  std::vector<Round> rounds = rounds_of(1, 1, 1);
  rounds[0].runs = {{base_arm, run_of_files("2", "0-1")}, {changed_arm, run_of_files("2", "0-1")}};
  EXPECT_FALSE(verdict_on(rounds, {}, 2).invalid) << "the first file is of one rank";
  EXPECT_TRUE(verdict_on(rounds, {}, 1).invalid);
  rounds[0].runs[changed_arm] = run_of_files("2", "0");
  EXPECT_THAT(verdict_on(rounds).notes.at(0), HasSubstr("z.jsonl, affinity: \"0-1\" and \"0\""));
  // A step that one version lacks is missing, and no other place.
  rounds[0].runs[changed_arm] = run_of_files("2", "0-1");
  rounds[0].runs[changed_arm].files.erase("a.jsonl");
  EXPECT_FALSE(verdict_on(rounds).invalid);
  rounds[0].runs[changed_arm] = run_of_files("2", "0-1");
  rounds[0].runs[changed_arm].files["z.jsonl"].build = "c";
  EXPECT_THAT(verdict_on(rounds).notes.at(0), HasSubstr("was built anew"));
}

std::string disturbance_of(const RunConditions& base, const RunConditions& changed) {
  Round round = round_of(1, 1, 1);
  round.runs[base_arm].conditions = base;
  round.runs[changed_arm].conditions = changed;
  return disturbance(round);
}

TEST(Disturbance, IsHeatABrakeOrWhatHoldsOneRunBackAndNotTheOther) {
  const GpuConditions fine{.slowed_by = {}, .power_limited = 0.1, .clock_hz = 2e9};
  const auto found = [&fine](const GpuConditions& changed) {
    return disturbance_of(conditions_of(fine), conditions_of(changed));
  };
  EXPECT_EQ(found(fine), "");
  EXPECT_EQ(found({{"power brake"}, 0, 2e9}),
            "the GPU was slowed in the run of new (gemm; power brake)");
  EXPECT_EQ(found({{}, 0.1, 1.6e9}), "");
  EXPECT_EQ(found({{}, 0.1, 1.4e9}),
            "the clock of the GPU was 1400 MHz in the run of new and 2000 MHz in base (gemm)");
  EXPECT_EQ(found({{}, 0.5, 2e9}), "");
  EXPECT_THAT(found({{}, 0.9, 2e9}), HasSubstr("a limit of power"));
  RunConditions hot;
  hot.slowed_by_heat = 3;
  EXPECT_THAT(disturbance_of({}, hot), HasSubstr("slowed by heat"));
  hot.slowed_by_heat = 0;
  EXPECT_EQ(disturbance_of({}, hot), "");
}

TEST(SetAside, RoundsInWhichTheGpuWasHotAreMeasuredAgainAndMakeNoRegression) {
  std::vector<Round> rounds = rounds_of(8, 1, 1);
  rounds.push_back(hot_round(9));
  rounds.push_back(hot_round(10));
  GateReport report = verdict_on(rounds);
  EXPECT_EQ(report.rounds, 8);
  EXPECT_EQ(report.set_aside, 2);
  EXPECT_TRUE(wants_more(rounds));
  EXPECT_THAT(report.notes, testing::Contains(HasSubstr("round 9 was set aside: the GPU was")));
  for (int i = 11; i <= 12; ++i) rounds.push_back(round_of(i, 1, 1));
  report = verdict_on(rounds);
  EXPECT_EQ(report.metrics.at(0).verdict, Verdict::not_regressed);
  EXPECT_EQ(report.metrics.at(0).rounds, 10);
  EXPECT_EQ(gate_report_of(to_json(report), "x").set_aside, 2);
}

TEST(SetAside, ASessionThatIsMostlySoEndsInconclusive) {
  std::vector<Round> rounds{hot_round(1), hot_round(2), hot_round(3)};
  EXPECT_TRUE(wants_more(rounds));
  rounds.push_back(hot_round(4));
  const GateReport report = verdict_on(rounds);
  EXPECT_TRUE(report.unsteady);
  EXPECT_FALSE(wants_more(rounds));
  EXPECT_EQ(report.verdict, Verdict::inconclusive);
  EXPECT_EQ(exit_code(report, {}), ExitCode::inconclusive);
}

TEST(SetAside, AStudyOfSlowedRoundsAloneIsRefused) {
  const std::vector<Round> rounds{noise_round(1, true), noise_round(2, true)};
  try {
    static_cast<void>(study_noise(rounds, {"gemm"}, {5}, 0.01));
    FAIL() << "studied";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::nothing_measured);
    EXPECT_THAT(error.what(), HasSubstr("no round is left to study: round 1 was set aside: "));
  }
}

// Properties of exit codes, over all verdicts and options.

std::vector<GateReport> all_verdicts() {
  std::vector<GateReport> all;
  for (unsigned bits = 0; bits < 128; ++bits) {
    for (const Verdict verdict :
         {Verdict::regressed, Verdict::not_regressed, Verdict::improved, Verdict::inconclusive}) {
      GateReport report;
      report.invalid = (bits & 1U) != 0;
      report.unsteady = (bits & 2U) != 0;
      report.canary = (bits & 4U) != 0 ? GateCanary::alarmed : GateCanary::quiet;
      report.rounds = (bits & 8U) != 0 ? 10 : 0;
      report.set_aside = (bits & 16U) != 0 ? 4 : 0;
      if ((bits & 32U) != 0) report.metrics.resize(1);
      if ((bits & 64U) != 0) report.missing.resize(1);
      const bool has_none = !is_trusted(report) || report.metrics.empty();
      if (has_none && verdict != Verdict::inconclusive) continue;  // no gate says so
      report.verdict = verdict;
      all.push_back(report);
    }
  }
  return all;
}

std::vector<GateExit> all_exits() {
  std::vector<GateExit> all;
  for (const auto inconclusive : {GateExit::Inconclusive::fails, GateExit::Inconclusive::passes}) {
    for (const auto improvement : {GateExit::Improvement::fails, GateExit::Improvement::passes}) {
      for (const auto missing : {GateExit::Missing::fails, GateExit::Missing::passes}) {
        all.push_back({inconclusive, improvement, missing});
      }
    }
  }
  return all;
}

TEST(GateExitCode, IsOkOnlyForWhatMayPass) {
  for (const GateReport& report : all_verdicts()) {
    for (const GateExit& exits : all_exits()) {
      const ExitCode code = exit_code(report, exits);
      const bool has_nothing =
          report.metrics.empty() && (report.rounds > 0 || report.set_aside == 0);
      EXPECT_EQ(code == ExitCode::wrong_result, report.invalid && !has_nothing);
      if (code != ExitCode::ok) continue;
      EXPECT_NE(report.verdict, Verdict::regressed);
      if (report.verdict == Verdict::inconclusive) {
        EXPECT_EQ(exits.inconclusive, GateExit::Inconclusive::passes);
      }
      if (report.verdict == Verdict::improved) {
        EXPECT_EQ(exits.improvement, GateExit::Improvement::passes);
      }
    }
  }
}

TEST(GateExitCode, NeverBecomesOkByAStricterOption) {
  for (const GateReport& report : all_verdicts()) {
    for (const GateExit& exits : all_exits()) {
      if (exit_code(report, exits) == ExitCode::ok) continue;
      GateExit stricter = exits;
      stricter.inconclusive = GateExit::Inconclusive::fails;
      EXPECT_NE(exit_code(report, stricter), ExitCode::ok);
      stricter = exits;
      stricter.improvement = GateExit::Improvement::fails;
      EXPECT_NE(exit_code(report, stricter), ExitCode::ok);
      stricter = exits;
      stricter.missing = GateExit::Missing::fails;
      EXPECT_NE(exit_code(report, stricter), ExitCode::ok);
    }
  }
}

// Properties of random sessions.

/// A session of one metric: the new version is slower by the fraction `effect`.
std::vector<Round> session_of(int count, double effect, double spread, Draws& draws) {
  std::vector<Round> rounds;
  for (int i = 1; i <= count; ++i) {
    rounds.push_back(round_of(i, 1, (1 + effect) * std::exp(spread * draws.normal())));
  }
  return rounds;
}

std::vector<Round> random_session(int count, Draws& draws) {
  const double effect = 0.06 * draws.uniform() - 0.03;
  return session_of(count, effect, 0.03 * draws.uniform(), draws);
}

void scale(const char* arm, double factor, std::vector<Round>& rounds) {
  for (Round& round : rounds) round.runs[arm].values[0].value *= factor;
}

/// From better to worse.
int badness(Verdict verdict) {
  switch (verdict) {
    case Verdict::improved:
      return 0;
    case Verdict::not_regressed:
      return 1;
    case Verdict::regressed:
      return 3;
    default:
      return 2;
  }
}

TEST(GateProperty, ASlowerNewVersionIsNeverJudgedBetter) {
  Draws draws(21);
  const GateRule rule{.margin = 0.01, .looks = looks_up_to(10), .q = 0.05};
  for (int i = 0; i < 200; ++i) {
    std::vector<Round> rounds = random_session(10, draws);
    const Verdict before = verdict_on(rounds, rule).verdict;
    scale(changed_arm, 1 + 0.03 * draws.uniform(), rounds);
    EXPECT_GE(badness(verdict_on(rounds, rule).verdict), badness(before));
  }
}

TEST(GateProperty, TheUnitOfTimeAndTheOrderOfVersionsDoNotMatter) {
  Draws draws(22);
  // With several looks, a verdict of "not regressed" may end a session that the swapped one goes
  // on.
  const GateRule rule{.margin = 0.01, .looks = looks_up_to(10), .q = 0.05};
  for (int i = 0; i < 50; ++i) {
    std::vector<Round> rounds = random_session(10, draws);
    const Verdict before = verdict_on(rounds, rule).verdict;
    for (const char* arm : {base_arm, changed_arm}) scale(arm, 1000, rounds);
    EXPECT_EQ(verdict_on(rounds, rule).verdict, before);
    for (Round& round : rounds) std::swap(round.runs[base_arm], round.runs[changed_arm]);
    EXPECT_EQ(verdict_on(rounds, rule).verdict == Verdict::regressed, before == Verdict::improved);
    EXPECT_EQ(verdict_on(rounds, rule).verdict == Verdict::improved, before == Verdict::regressed);
  }
}

TEST(GateProperty, AVerdictStaysWhateverRoundsFollow) {
  Draws draws(23);
  for (int i = 0; i < 50; ++i) {
    Gate gate{GateRule{}};
    for (const Round& round : random_session(40, draws)) {
      if (gate.wants_more()) gate.add(round);
    }
    ASSERT_FALSE(gate.wants_more());
    const Verdict before = gate.verdict().verdict;
    for (int more = 0; more < 5; ++more) gate.add(round_of(41 + more, 1, 1 + draws.uniform()));
    EXPECT_FALSE(gate.wants_more());
    EXPECT_EQ(gate.verdict().verdict, before);
  }
}

TEST(GateProperty, DisturbedRoundsCountForNothing) {
  Draws draws(24);
  for (int i = 0; i < 50; ++i) {
    std::vector<Round> rounds = random_session(20, draws);
    const GateReport before = verdict_on(rounds);
    for (int more = 0; more < 5; ++more) {
      const auto at = static_cast<std::ptrdiff_t>(draws.below(rounds.size()));
      rounds.insert(rounds.begin() + at, hot_round(99));
    }
    const GateReport after = verdict_on(rounds);
    EXPECT_EQ(after.set_aside, 5);
    EXPECT_EQ(after.verdict, before.verdict);
    EXPECT_EQ(after.metrics[0].ratio, before.metrics[0].ratio);
    EXPECT_EQ(after.metrics[0].p_adjusted, before.metrics[0].p_adjusted);
  }
}

// Levels that jump move the medians of the two sides against the change of the pairs.
TEST(GateProperty, BaseNewAndChangeAgreeInSignAndSize) {
  Draws draws(26);
  int against = 0;
  for (int i = 0; i < 200; ++i) {
    std::vector<Round> rounds;
    std::vector<double> sides[2];
    for (int number = 1; number <= 10; ++number) {
      const double base = draws.uniform() < 0.5 ? 1 : 1.4;
      const double changed = (draws.uniform() < 0.5 ? 1 : 1.4) * std::exp(0.02 * draws.normal());
      rounds.push_back(round_of(number, base, changed));
      sides[0].push_back(base);
      sides[1].push_back(changed);
    }
    const Direction direction =
        i % 2 == 0 ? Direction::smaller_is_better : Direction::larger_is_better;
    for (Round& round : rounds) {
      for (auto& [arm, run] : round.runs) run.values[0].direction = direction;
    }
    const GateMetric metric = verdict_on(rounds).metrics.at(0);
    const double slower = metric.changed / metric.base;
    EXPECT_NEAR(i % 2 == 0 ? slower : 1 / slower, metric.ratio, 1e-12);
    against += (median(sides[1]) > median(sides[0])) != (slower > 1) ? 1 : 0;
  }
  EXPECT_GT(against, 5) << "the medians would have disagreed";
}

// An A/A test of the gate itself. Without a margin every alarm is a false positive; the error is at
// most 5 % over all looks of a session.
TEST(GateProperty, AlarmsInAtMostFivePercentOfSessionsOfTheSameVersion) {
  Draws draws(25);
  constexpr std::size_t n = 200;
  std::size_t regressed = 0;
  std::size_t improved = 0;
  for (std::size_t i = 0; i < n; ++i) {
    Gate gate({.margin = 0});
    for (const Round& round : session_of(40, 0, 0.02, draws)) {
      if (gate.wants_more()) gate.add(round);
    }
    regressed += gate.verdict().verdict == Verdict::regressed ? 1 : 0;
    improved += gate.verdict().verdict == Verdict::improved ? 1 : 0;
  }
  EXPECT_LE(regressed, most_of(n, 0.05));
  EXPECT_LE(improved, most_of(n, 0.05));
  EXPECT_GE(regressed + improved, 1U) << "a test that never alarms shows nothing";
}

}  // namespace
}  // namespace dlscale::regression
