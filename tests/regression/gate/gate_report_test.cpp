#include "regression/gate/gate_report.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace dlscale::regression {
namespace {

GateReport sample() {
  GateReport report;
  report.margin = 0.01;
  report.looks = {{10, 0.02}, {20, 0.02}, {40, 0.01}};
  report.seed = 18446744073709551615U;
  report.rounds = 20;
  report.base = {{"dlscale", "bench", "gemm"}, "0123abc", {{"cpu", "a \"processor\""}}};
  report.changed = {{"dlscale", "bench", "gemm", "--x\n"}, "", {}};
  report.machine = "1 × EPYC, 2 cores";
  report.canary = GateCanary::quiet;
  GateMetric metric;
  metric.key = "gemm kernel=256x256x256";
  metric.series = "time";
  metric.unit = "s";
  metric.base = 1e-3;
  metric.changed = 1.06e-3;
  metric.ratio = 1.061;
  metric.margin = 0.01;
  metric.ratio_low = 1.04;
  metric.ratio_high = 1.083;
  metric.p = 0.001;
  metric.rounds = 10;
  metric.verdict = Verdict::regressed;
  metric.pairs = {{1, GateSideName::changed, 1e-3, 1.06e-3}};
  report.metrics = {metric, metric};
  report.metrics[1].ratio = 0.9;
  report.metrics[1].verdict = Verdict::inconclusive;
  report.metrics[1].ratio_low.reset();
  report.canary_metrics = {metric};
  report.missing = {{"gone", "time", "s"}};
  report.set_aside = 2;
  report.load = {0.25, 3};
  report.notes = {"something"};
  report.verdict = Verdict::regressed;
  report.duration = 12.5;
  report.date = "2026-11-23T05:00:00Z";
  return report;
}

TEST(GateReport, ComesBackFromItsFileAsItWas) {
  const std::string text = to_json(sample());
  EXPECT_TRUE(text.starts_with("{\n  \"schema\": \"dlscale.gate\",\n  \"version\": 1"));
  EXPECT_EQ(to_json(gate_report_of(text, "x")), text);
  const GateReport back = gate_report_of(text, "x");
  EXPECT_EQ(back.seed, 18446744073709551615U);
  EXPECT_EQ(back.metrics[0].pairs[0].first, GateSideName::changed);
  EXPECT_FALSE(back.metrics[1].ratio_low);
  EXPECT_EQ(back.set_aside, 2);
  EXPECT_EQ(back.load.value().second, 3);
  ASSERT_EQ(back.missing.size(), 1U);
  EXPECT_EQ(back.missing[0].key + " " + back.missing[0].series + " " + back.missing[0].unit,
            "gone time s");
}

TEST(GateReport, HasAHeadlineOfAtMostAHundredAndFortyCharacters) {
  GateReport report = sample();
  EXPECT_EQ(gate_headline(report),
            "1 regressed, 1 inconclusive of 2, 1 not measured · worst gemm kernel=256x256x256 "
            "+6.1 % (+4.0 to +8.3) · 20 rounds · A/A test passed");
  report.missing.clear();
  report.metrics[0].key = std::string(500, 'k') + "ä\n";
  const std::string line = gate_headline(report);
  const auto characters =
      std::ranges::count_if(line, [](char byte) { return (byte & 0xC0) != 0x80; });
  EXPECT_LE(characters, 140);
  EXPECT_NE(line.find("… +6.1 %"), std::string::npos) << line;
  report.missing.resize(3);
  EXPECT_NE(gate_headline(report).find("1 inconclusive of 2, 3 not measured · "),
            std::string::npos);
  report.missing.clear();
  report.metrics.clear();
  EXPECT_EQ(gate_headline(report),
            "nothing was measured · 20 rounds · 1 × EPYC, 2 cores · A/A test passed");
}

TEST(GateReport, NamesAsWorstInItsHeadlineARegressionAndNoLargerChangeThatMayBeChance) {
  GateReport report = sample();
  report.metrics.at(1).ratio = 2;
  EXPECT_NE(gate_headline(report).find("worst gemm kernel=256x256x256 +6.1 %"),
            std::string::npos);
}

TEST(GateReport, NamesTheMachineInItsHeadlineWhereThereIsRoom) {
  GateReport report = sample();
  report.missing.clear();
  EXPECT_EQ(gate_headline(report),
            "1 regressed, 1 inconclusive of 2 · worst gemm kernel=256x256x256 +6.1 % (+4.0 to "
            "+8.3) · 20 rounds · 1 × EPYC, 2 cores · A/A test passed");
  report.machine = std::string(100, 'm');
  EXPECT_NE(gate_headline(report).find("kernel=256x"), std::string::npos);
  EXPECT_NE(gate_headline(report).find(" · mmmmmmmmmmm"), std::string::npos);
  report.metrics.clear();
  EXPECT_EQ(gate_headline(report),
            "nothing was measured · 20 rounds · " + std::string(39, 'm') + "… · A/A test passed");
}

TEST(GateReport, WritesNoNumberThatIsNone) {
  GateReport report = sample();
  report.metrics[0].ratio = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(to_json(report), std::logic_error);
}

/// The message for a file in which one text stands for another.
std::string problem(std::string from, const std::string& to) {
  std::string text = to_json(sample());
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  try {
    gate_report_of(text, "gate.json");
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "none";
}

TEST(GateReport, SaysWhatIsWrongWithAFile) {
  EXPECT_NE(problem("dlscale.gate", "dlscale.plan")
                .find("gate.json is not the result of a gate: it is "
                      "not of the schema dlscale.gate"),
            std::string::npos);
  EXPECT_NE(problem("\"version\": 1", "\"version\": 2").find("its version is 2"),
            std::string::npos);
  EXPECT_NE(problem("\"base\": 0.001", "\"base\": 0").find("\"base\" is 0, not above 0"),
            std::string::npos);
  EXPECT_NE(problem("\"p\": 0.001", "\"p\": 7").find("no probability"), std::string::npos);
  EXPECT_NE(problem("signed rank", "guess").find("\"method\" is \"guess\""), std::string::npos);
  EXPECT_NE(problem("\"unit\"", "\"size\"").find("the key \"unit\" is missing"), std::string::npos);
  EXPECT_NE(problem("\"rounds\": 20", "\"rounds\": -1").find("is not a count"), std::string::npos);
  EXPECT_THROW(gate_report_of("", "x"), ConfigError);
  EXPECT_THROW(gate_report_of("[1, 2", "x"), ConfigError);
  EXPECT_THROW(gate_report_of("7", "x"), ConfigError);
}

}  // namespace
}  // namespace dlscale::regression
