#include "regression/gate/paired_gate.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "noise_models.hpp"

namespace dlscale::regression {
namespace {

using Differences = std::vector<std::vector<double>>;

/// Normal differences around ln(1 + effect).
std::vector<double> rounds_of(std::size_t n, double effect, double spread, Draws& draws) {
  std::vector<double> d;
  for (std::size_t i = 0; i < n; ++i) d.push_back(std::log1p(effect) + spread * draws.normal());
  return d;
}

Verdict verdict_of(const std::vector<double>& differences, const GateRule& rule = {}) {
  return judge_gate(Differences{differences}, rule).front().verdict;
}

TEST(PairedGate, TellsTheThreeVerdictsAndImprovement) {
  Draws draws(1);
  EXPECT_EQ(verdict_of(rounds_of(10, 0.05, 0.005, draws)), Verdict::regressed);
  EXPECT_EQ(verdict_of(rounds_of(10, 0.00, 0.002, draws)), Verdict::not_regressed);
  EXPECT_EQ(verdict_of(rounds_of(10, -0.05, 0.005, draws)), Verdict::improved);
  EXPECT_EQ(verdict_of(rounds_of(10, 0.00, 0.200, draws)), Verdict::inconclusive);
}

TEST(PairedGate, UsesSignedRankBelowTwentyRoundsAndTheSignTestFromThereOrWithoutMargin) {
  Draws draws(2);
  const std::vector<double> d = rounds_of(20, 0, 0.01, draws);
  const auto method = [&d](std::size_t rounds, double margin) {
    return estimate_gate(std::span(d).first(rounds), margin, 0.05).method;
  };
  EXPECT_EQ(method(19, 0.01), GateMethod::signed_rank);
  EXPECT_EQ(method(20, 0.01), GateMethod::sign_test);
  EXPECT_EQ(method(10, 0.0), GateMethod::sign_test);
}

TEST(PairedGate, SwappingTheVersionsOrTheDirectionFlipsTheSign) {
  std::vector<GatePair> pairs{{1, GateSideName::base, 1.0, 1.1},
                              {2, GateSideName::changed, 2.0, 2.3}};
  const auto times = differences_of(pairs, Direction::smaller_is_better);
  const auto rates = differences_of(pairs, Direction::larger_is_better);
  for (std::size_t i = 0; i < times.size(); ++i) EXPECT_DOUBLE_EQ(times[i], -rates[i]);
  for (GatePair& pair : pairs) std::swap(pair.base, pair.changed);
  const auto swapped = differences_of(pairs, Direction::smaller_is_better);
  for (std::size_t i = 0; i < times.size(); ++i) EXPECT_DOUBLE_EQ(times[i], -swapped[i]);
  for (GatePair& pair : pairs) {  // another unit changes nothing
    pair.base *= 1e6;
    pair.changed *= 1e6;
  }
  const auto scaled = differences_of(pairs, Direction::smaller_is_better);
  for (std::size_t i = 0; i < times.size(); ++i) EXPECT_NEAR(scaled[i], swapped[i], 1e-14);
}

TEST(PairedGate, DecidesAtTheFirstLookThatCanAndLaterRoundsDoNotChangeIt) {
  Draws draws(3);
  std::vector<double> d = rounds_of(10, 0.05, 0.002, draws);
  const std::vector<double> better = rounds_of(30, -0.3, 0.002, draws);
  d.insert(d.end(), better.begin(), better.end());
  const GateDecision decision = judge_gate(Differences{d}, {}).front();
  EXPECT_EQ(decision.verdict, Verdict::regressed);
  EXPECT_EQ(decision.rounds, 10);
}

TEST(PairedGate, SaysNothingBeforeTheFirstLookButEstimates) {
  Draws draws(4);
  const auto decisions = judge_gate(Differences{rounds_of(9, 0.05, 0.002, draws), {}}, {});
  EXPECT_EQ(decisions[0].verdict, Verdict::inconclusive);
  EXPECT_FALSE(decisions[0].decided);
  EXPECT_EQ(decisions[0].rounds, 9);
  EXPECT_NEAR(decisions[0].estimate.theta, std::log1p(0.05), 0.005);
  EXPECT_EQ(decisions[1].rounds, 0);
}

// p can be no less than 2^−10, and counts 2.5 times at the first look: .00244, which among 20
// metrics is below .05 / 20 and among 40 is not.
TEST(PairedGate, HoldsBackALoneDiscoveryAmongManyMetricsUntilThereAreRoundsEnough) {
  Draws draws(5);
  const auto family = [&draws](std::size_t metrics, std::size_t rounds) {
    Differences all{rounds_of(rounds, 0.05, 0.002, draws)};
    // What is undecided; decided ones count as well.
    while (all.size() < metrics) all.push_back(rounds_of(rounds, 0, 0.002, draws));
    return judge_gate(all, {});
  };
  EXPECT_EQ(family(20, 10).front().verdict, Verdict::regressed);
  const auto forty = family(40, 10);
  EXPECT_EQ(forty.front().verdict, Verdict::inconclusive);
  EXPECT_EQ(forty.front().hold, GateHold::by_family);
  EXPECT_EQ(family(40, 20).front().verdict, Verdict::regressed);
}

// Both errors at or under 5 % at the margin itself, over all three looks.
TEST(PairedGate, KeepsItsLevelAtTheMarginOverAllLooks) {
  Draws draws(6);
  constexpr std::size_t n = 500;
  std::size_t regressed = 0;
  std::size_t not_regressed = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const Verdict verdict = verdict_of(rounds_of(40, 0.01, 0.015, draws));
    regressed += verdict == Verdict::regressed ? 1 : 0;
    not_regressed += verdict == Verdict::not_regressed ? 1 : 0;
  }
  EXPECT_LE(regressed, most_of(n, 0.05));
  EXPECT_LE(not_regressed, most_of(n, 0.05));
  EXPECT_GE(regressed + not_regressed, 10U);  // it does decide at times
}

TEST(PairedGate, MakesFalseAlarmsAmongAHundredMetricsRarely) {
  Draws draws(7);
  int alarms = 0;
  for (int commit = 0; commit < 30; ++commit) {
    Differences all;
    for (int metric = 0; metric < 100; ++metric) all.push_back(rounds_of(15, 0, 0.015, draws));
    const GateRule rule{.margin = 0.01, .looks = {{15, 0.05}}, .q = 0.05};
    for (const GateDecision& decision : judge_gate(all, rule)) {
      alarms += decision.verdict == Verdict::regressed ? 1 : 0;
    }
  }
  EXPECT_EQ(alarms, 0);
}

TEST(PairedGate, DividesItsErrorAmongItsLooks) {
  for (const int most : {2, 5, 10, 15, 20, 30, 40, 80, 200}) {
    double alpha = 0;
    for (const GateLook& look : looks_up_to(most)) alpha += look.alpha;
    EXPECT_NEAR(alpha, 0.05, 1e-12) << most;
    EXPECT_EQ(looks_up_to(most).back().rounds, most);
  }
  const std::vector<GateLook> standard = looks_up_to(40);
  ASSERT_EQ(standard.size(), 3U);
  EXPECT_EQ(standard[1].rounds, 20);
  EXPECT_DOUBLE_EQ(standard[2].alpha, 0.01);
}

// Whatever the rule says can be decided is decided if all rounds agree by far, and nothing else is.
TEST(PairedGate, CanDecideWithFiveRoundsAtLeast) {
  EXPECT_EQ(least_rounds(), 5);
  for (int rounds = 2; rounds <= 90; ++rounds) {
    std::vector<double> differences;
    for (int i = 0; i < rounds; ++i) differences.push_back(1 + 0.001 * i);
    const std::vector<std::vector<double>> one{differences};
    const GateRule rule{.margin = 0.01, .looks = looks_up_to(rounds), .q = 0.05};
    EXPECT_EQ(judge_gate(one, rule).front().verdict == Verdict::regressed, can_decide(rule.looks))
        << rounds;
    EXPECT_EQ(can_decide(rule.looks), rounds >= 5) << rounds;
  }
}

/// Values that every round prints alike, and the change that these digits allow.
struct Printed {
  double base;
  double changed;
  double rounding;
  Direction direction;
  Verdict verdict;
  double low;
  double high;
};
class PrintedRounds : public testing::TestWithParam<Printed> {};

// Equal values are rounded alike, so that more rounds do not average it out.
TEST_P(PrintedRounds, AreJudgedByWhatTheirDigitsAllowHoweverManyThereAre) {
  const Printed& printed = GetParam();
  for (const int rounds : {10, 40}) {
    const std::vector<GatePair> pairs(rounds,
                                      {1, GateSideName::base, printed.base, printed.changed});
    const Differences differences{differences_of(pairs, printed.direction)};
    const std::vector<RoundedDifferences> rounded{
        rounded_differences(pairs, printed.direction, printed.rounding)};
    const GateRule rule{.looks = looks_up_to(rounds)};
    const GateDecision decision = judge_gate(differences, rule, {}, rounded).front();
    EXPECT_EQ(decision.verdict, printed.verdict);
    EXPECT_NEAR(std::exp(decision.estimate.low.value()), printed.low, 1e-12);
    EXPECT_NEAR(std::exp(decision.estimate.high.value()), printed.high, 1e-12);
  }
}

constexpr auto of_times = Direction::smaller_is_better;
constexpr auto of_rates = Direction::larger_is_better;
INSTANTIATE_TEST_SUITE_P(
    Digits, PrintedRounds,
    testing::Values(Printed{1, 2, 0.5, of_times, Verdict::inconclusive, 1.0, 5.0},
                    Printed{20, 21, 0.5, of_times, Verdict::inconclusive, 1.0, 21.5 / 19.5},
                    Printed{20, 20, 0.5, of_times, Verdict::inconclusive, 19.5 / 20.5, 20.5 / 19.5},
                    Printed{10, 20, 0.5, of_times, Verdict::regressed, 19.5 / 10.5, 20.5 / 9.5},
                    Printed{20, 10, 0.5, of_times, Verdict::improved, 9.5 / 20.5, 10.5 / 19.5},
                    Printed{1000, 1000, 0.5, of_times, Verdict::not_regressed, 999.5 / 1000.5,
                            1000.5 / 999.5},
                    Printed{0.02, 0.01, 0.005, of_rates, Verdict::inconclusive, 1.0, 5.0},
                    Printed{1, 2, 0, of_times, Verdict::regressed, 2.0, 2.0}));

// Nine rounds are quicker by 1.2 %, which alone clears 1 %. The tenth is not below twice the
// margin.
TEST(PairedGate, ClearsNothingThatAChangeOfTwiceTheMarginGivesByLuck) {
  std::vector<double> d(10, -0.012);
  d.back() = 0.03;
  const GateEstimate estimate = estimate_gate(d, 0.01, 0.02);
  EXPECT_LT(estimate.high.value(), std::log1p(0.01));
  EXPECT_EQ(estimate.far_high, 0.03);
  EXPECT_EQ(judge_gate(Differences{d}, {}).front().hold, GateHold::by_far_bound);
  EXPECT_EQ(verdict_of(d), Verdict::inconclusive);
  d.back() = 0.019;
  EXPECT_EQ(verdict_of(d), Verdict::not_regressed);
  Draws draws(8);
  int cleared = 0;
  for (int i = 0; i < 1000; ++i) {
    cleared += verdict_of(rounds_of(40, 0.02, 0.042, draws)) == Verdict::not_regressed ? 1 : 0;
  }
  EXPECT_LE(static_cast<std::size_t>(cleared), most_of(1000, 0.001));
}

/// Differences from `low` to `high`, all of one sign, and whether a margin of 1 or 2 % clears them.
struct Slower {
  double low;
  double high;
  bool by_one;
  bool by_two;
};
class SlowerRounds : public testing::TestWithParam<Slower> {};

// A margin of noise clears what δ clears, and nothing else that is slower.
TEST_P(SlowerRounds, AreClearedByAMarginOfNoiseWhereTheLeastOneClearsThem) {
  const Slower& slower = GetParam();
  std::vector<double> d;
  for (int i = 0; i < 10; ++i) d.push_back(slower.low + (slower.high - slower.low) * i / 9);
  for (const double least : {0.01, 0.02}) {
    const GateRule rule{.margin = least, .margin_from = GateRule::Margin::of_noise};
    const double needed = std::expm1(least_log_margin(estimate_gate(d, least, 0.02)).value());
    for (const double wider : {1.0, 1.25, 1.5, 2.0, 10.0}) {
      const std::vector<double> margins{least * wider};
      const GateDecision decision = judge_gate(Differences{d}, rule, margins).front();
      const bool is_cleared = decision.verdict == Verdict::not_regressed;
      EXPECT_EQ(is_cleared, least == 0.01 ? slower.by_one : slower.by_two) << least << wider;
      const bool is_held = decision.hold == GateHold::by_slowness;
      EXPECT_EQ(is_held, margins[0] > needed && !is_cleared) << least << " × " << wider;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Spreads, SlowerRounds,
    testing::Values(Slower{0.001, 0.008, true, true}, Slower{0.003, 0.009, true, true},
                    Slower{0.002, 0.015, false, true}, Slower{0.005, 0.016, false, true},
                    Slower{0.003, 0.030, false, false}));

}  // namespace
}  // namespace dlscale::regression
