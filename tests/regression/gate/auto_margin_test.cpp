#include "regression/gate/auto_margin.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <span>
#include <vector>

#include "gate_rounds.hpp"
#include "noise_models.hpp"
#include "regression/gate/gate_outlook.hpp"
#include "studies.hpp"

namespace dlscale::regression {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

constexpr std::size_t rounds = 40;

GateRule up_to(int most, double margin = 0.01) {
  return {.margin = margin, .looks = looks_up_to(most)};
}

// The sign test, which judges without a margin, needs larger changes.
TEST(DecidableChange, IsThatOfTheTestThatJudges) {
  Draws draws(36);
  const std::vector<double> noise = draw_rounds(RoundNoise::normal_3, 10, draws);
  EXPECT_GT(decidable_change(noise, up_to(10, 0)), decidable_change(noise, up_to(10, 0.01)));
}

TEST(AutoMargin, GrowsWithTheNoiseBetweenItsLimitsAndDoesNotDependOnTheChange) {
  Draws draws(31);
  const std::vector<double> noise = draw_rounds(RoundNoise::normal_3, 10, draws);
  double before = 0;
  for (const double scale : {0.0, 0.01, 0.3, 1.0, 2.0, 100.0}) {
    std::vector<double> d = noise;
    for (double& each : d) each *= scale;
    const double margin = auto_margin(d, up_to(40));
    EXPECT_GE(margin, std::max(before, least_auto_margin));
    EXPECT_LE(margin, most_auto_margin);
    for (double& each : d) each += 0.2;
    EXPECT_EQ(auto_margin(d, up_to(40)), margin);
    before = margin;
  }
  EXPECT_EQ(before, most_auto_margin);
  EXPECT_GT(auto_margin(noise, up_to(20)), auto_margin(noise, up_to(160)));
}

class AutoMarginNoise : public testing::TestWithParam<RoundNoise> {};

// The rounds that choose the margin are judged by it, too. That must not add wrong verdicts even at
// the margin itself, where one is allowed in 5 % of the gates.
TEST_P(AutoMarginNoise, DoesNotBiasTheVerdictOfTheRoundsThatChoseIt) {
  Draws draws(32);
  constexpr std::size_t gates = 60;
  std::size_t cleared = 0;
  for (std::size_t i = 0; i < gates; ++i) {
    const Verdict verdict = verdict_at_margin(draw_rounds(GetParam(), rounds, draws));
    cleared += verdict == Verdict::not_regressed ? 1 : 0;
  }
  EXPECT_LE(cleared, most_of(gates, 0.05));
}

// A wide margin neither hides a change from the verdict "regressed" nor clears it.
TEST_P(AutoMarginNoise, FindsFivePercentAsOftenAsTheMarginOfOnePercent) {
  MarginRates fixed;
  MarginRates of_noise;
  Draws draws(35);
  for (int i = 0; i < 20; ++i) {
    const std::vector<double> d = draw_rounds(GetParam(), rounds, draws);
    add_gate(d, 0.05, GateRule::Margin::given, fixed);
    add_gate(d, 0.05, GateRule::Margin::of_noise, of_noise);
  }
  EXPECT_GE(of_noise.regressed, fixed.regressed - 1);
  EXPECT_EQ(of_noise.not_regressed, 0);
}

TEST_P(AutoMarginNoise, LetsMostGatesOfIdenticalVersionsDecideAndNoneRegress) {
  Draws draws(33);
  MarginRates rates;
  for (int i = 0; i < 40; ++i) {
    add_gate(draw_rounds(GetParam(), rounds, draws), 0, GateRule::Margin::of_noise, rates);
  }
  EXPECT_GE(rates.not_regressed, 30);
  EXPECT_LE(rates.regressed, 1);
}

INSTANTIATE_TEST_SUITE_P(AllNoise, AutoMarginNoise, testing::ValuesIn(round_noises));

/// Rounds of a gate whose new version takes the times e^d.
std::vector<Round> rounds_with(const std::vector<double>& differences) {
  std::vector<Round> all;
  for (const double d : differences) {
    all.push_back(round_of(static_cast<int>(all.size()) + 1, 1, std::exp(d)));
  }
  return all;
}

TEST(GateWithMarginOfNoise, SaysItFromTheFirstLookOnAndKeepsIt) {
  Draws draws(34);
  const GateRule rule{.margin = least_auto_margin,
                      .margin_from = GateRule::Margin::of_noise,
                      .looks = looks_up_to(40),
                      .q = 0.05};
  Gate gate(rule);
  double margin = 0;
  for (const Round& round : rounds_with(draw_rounds(RoundNoise::normal_3, rounds, draws))) {
    gate.add(round);
    const GateReport& report = gate.verdict();
    const std::string decidable = decidable_changes(report);
    EXPECT_EQ(decidable.empty(), report.rounds < 10);
    if (report.rounds == 10) margin = report.margin;
    if (report.rounds >= 10) EXPECT_EQ(report.metrics.at(0).margin, margin);
  }
  EXPECT_GT(margin, 0.015);
  const GateReport& report = gate.verdict();
  EXPECT_THAT(decidable_changes(report),
              MatchesRegex("this machine can decide changes of [1-9]\\.[0-9] % in 40 rounds"));
  EXPECT_THAT(decidable_by_more_rounds(report), HasSubstr("would take 160 rounds"));
  EXPECT_THAT(gate_headline(report), HasSubstr(" · margin "));
  const GateReport read = gate_report_of(to_json(report), "x");
  EXPECT_TRUE(read.margin_of_noise);
  EXPECT_EQ(read.metrics.at(0).margin, margin);
}

}  // namespace
}  // namespace dlscale::regression
