#include "regression/gate/gate_outlook.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "regression/gate/auto_margin.hpp"
#include "regression/gate/paired_gate.hpp"

namespace dlscale::regression {
namespace {

GateMetric open_metric(double ratio, double low, double high) {
  GateMetric metric;
  metric.key = "gemm kernel=a";
  metric.series = "time";
  metric.unit = "s";
  metric.base = 1;
  metric.changed = ratio;
  metric.ratio = ratio;
  metric.ratio_low = low;
  metric.ratio_high = high;
  metric.rounds = 40;
  return metric;
}

GateReport of_margin(double margin, bool of_noise = false) {
  GateReport gate;
  gate.margin = margin;
  gate.margin_of_noise = of_noise;
  gate.looks = looks_up_to(40);
  return gate;
}

TEST(MoreRounds, AreThoseUntilTheIntervalEndsAtTheMargin) {
  // ln 1.03 / (ln 1.03 - ln 1.01) = 1.508, of which the square times 40 is 90.9.
  EXPECT_EQ(more_rounds(open_metric(1.03, 1.0, 1.06), of_margin(0.01)), 51);
  // Below the margin the upper end counts, and it is nearer here than the lower one.
  EXPECT_EQ(more_rounds(open_metric(1.0, 0.9, 1.02), of_margin(0.01)), 119);
  GateMetric decided = open_metric(1.03, 1.02, 1.04);
  EXPECT_EQ(more_rounds(decided, of_margin(0.01)), 1) << "held back among many metrics";
  decided.verdict = Verdict::regressed;
  EXPECT_EQ(more_rounds(decided, of_margin(0.01)), std::nullopt);
  EXPECT_EQ(more_rounds(open_metric(1.0101, 0.99, 1.03), of_margin(0.01)), std::nullopt) << "at the margin";
  EXPECT_EQ(more_rounds(open_metric(1.01, 0.99, 1.03), of_margin(0.01)), std::nullopt);
  GateMetric endless = open_metric(1.0, 0.9, 1.02);
  endless.ratio_high.reset();
  EXPECT_EQ(more_rounds(endless, of_margin(0.01)), std::nullopt);
}

/// A metric of these differences, as a gate has it.
GateMetric judged_metric(const std::vector<double>& differences, double margin) {
  const auto rounds = static_cast<int>(differences.size());
  const std::vector<GateLook> looks = looks_up_to(40);
  const auto look = std::ranges::find(looks, rounds, &GateLook::rounds);
  const GateEstimate estimate = estimate_gate(differences, least_auto_margin, look->alpha);
  GateMetric metric = open_metric(std::exp(estimate.theta), std::exp(estimate.low.value()),
                                  std::exp(estimate.high.value()));
  metric.margin = margin;
  metric.rounds = rounds;
  for (const double d : differences) {
    metric.pairs.push_back({rounds, GateSideName::base, 1, std::exp(d)});
  }
  return metric;
}

// The interval is within 1 %, and U' of 3 % has to be 2 %: (.03 + .012)² / (.0198 + .012)² · 10.
TEST(MoreRounds, AreThoseOfTheBoundThatHoldsAMetricBack) {
  std::vector<double> d(10, -0.012);
  d.back() = 0.03;
  const GateMetric metric = judged_metric(d, 0.01);
  EXPECT_LT(metric.ratio_high.value(), 1.01);
  EXPECT_EQ(more_rounds(metric, of_margin(0.01)), 8);
}

TEST(MoreRounds, ClearNothingSlowerAtAMarginOfNoise) {
  std::vector<double> d;
  for (int i = 0; i < 10; ++i) d.push_back(0.001 + 0.0014 * i);
  const GateMetric slower = judged_metric(d, 0.03);
  EXPECT_GT(slower.ratio_low.value(), 1.0);
  EXPECT_GT(more_rounds(slower, of_margin(0.03, true)).value(), 1);
  EXPECT_EQ(more_rounds(slower, of_margin(0.03, true)),
            more_rounds(judged_metric(d, 0.01), of_margin(0.01)));
  for (double& each : d) each += 0.01 - 0.0073;
  const GateMetric between = judged_metric(d, 0.03);
  EXPECT_EQ(more_rounds(between, of_margin(0.03, true)), std::nullopt) << "at the least margin";
  for (double& each : d) each -= 0.0115;
  const GateMetric quicker = judged_metric(d, 0.03);
  EXPECT_LT(quicker.ratio, 1);
  EXPECT_EQ(more_rounds(quicker, of_margin(0.03, true)), 1);
}

/// The share of gates of so many rounds that call such a change regressed.
double power(double sigma, double effect, const GateRule& rule) {
  std::mt19937 generator(7);
  std::normal_distribution<double> noise(std::log1p(effect), sigma);
  constexpr int gates = 400;
  int found = 0;
  for (int i = 0; i < gates; ++i) {
    std::vector<std::vector<double>> d(1);
    for (int r = 0; r < rule.looks.back().rounds; ++r) d[0].push_back(noise(generator));
    found += judge_gate(d, rule).front().verdict == Verdict::regressed ? 1 : 0;
  }
  return static_cast<double>(found) / gates;
}

TEST(SmallestSeen, IsTheMarginWhereBothVersionsVaryAlike) {
  GateMetric metric = open_metric(2, 1, 3);
  for (const double base : {0.99, 1.0, 1.01}) {
    metric.pairs.push_back({1, GateSideName::base, base, 2 * base});
  }
  EXPECT_NEAR(smallest_seen(metric, 0.01, {40, 0.01}).value(), 0.01, 1e-9);
}

TEST(SmallestSeen, IsFoundInAboutEightOfTenCases) {
  constexpr double sigma = 0.03;
  std::mt19937 generator(1);
  std::normal_distribution<double> noise(0, sigma);
  for (const GateLook look : {GateLook{10, 0.05}, GateLook{40, 0.05}}) {
    GateMetric metric = open_metric(1, 0.9, 1.1);
    for (int r = 0; r < 999; ++r) {
      metric.pairs.push_back({r, GateSideName::base, 1, std::exp(noise(generator))});
    }
    GateRule rule;
    rule.looks = {look};
    const double seen = smallest_seen(metric, rule.margin, look).value();
    EXPECT_NEAR(power(sigma, seen, rule), 0.8, 0.1) << look.rounds;
  }
}

}  // namespace
}  // namespace dlscale::regression
