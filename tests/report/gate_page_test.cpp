#include <gtest/gtest.h>

#include "report/sections/gate_sections.hpp"
#include "tests/report/look_at.hpp"
#include "tests/report/samples.hpp"

namespace dlscale::report {
namespace {

using regression::GateCanary;
using regression::GateReport;
using regression::Verdict;

/// The sample with its first metric alone.
GateReport of_one_metric(Verdict verdict) {
  GateReport gate = samples::gate();
  gate.metrics.resize(1);
  gate.metrics[0].verdict = gate.verdict = verdict;
  return gate;
}

TEST(GatePage, AnswersByTheMetricThatChangedMostAndItsInterval) {
  const Page page = gate_page(samples::gate());
  EXPECT_EQ(page.verdict,
            "Yes: 1 of 5 metrics regressed: conv batch=1 by +6.0 % (96 % interval +4.9 % to +7.1 "
            "%).");
  EXPECT_EQ(gate_page(of_one_metric(Verdict::regressed)).verdict,
            "Yes: conv batch=1 regressed by +6.0 % (96 % interval +4.9 % to +7.1 %).");
  EXPECT_EQ(gate_page(of_one_metric(Verdict::improved)).verdict,
            "No: nothing regressed, and conv batch=1 improved by +6.0 % (96 % interval +4.9 % to "
            "+7.1 %).");
  EXPECT_EQ(gate_page(of_one_metric(Verdict::not_regressed)).verdict,
            "No: conv batch=1 did not regress by 1.0 % or more (96 % interval +4.9 % to +7.1 %).");
}

TEST(GatePage, SaysOfAnOpenGateWhatIsStillPossible) {
  EXPECT_EQ(gate_page(of_one_metric(Verdict::inconclusive)).verdict,
            "Not known yet: conv batch=1 changed by +6.0 % (96 % interval +4.9 % to +7.1 %), and "
            "1.0 % or more would be a regression.");
  GateReport gate = samples::gate();
  gate.metrics[0].verdict = Verdict::inconclusive;
  EXPECT_EQ(gate_page(gate).verdict,
            "Not known yet: none of 5 metrics has regressed for sure, but 2 may have, by 1.0 % or "
            "more.");
}

TEST(GatePage, StatesTheMarginThatMetricsWereClearedOf) {
  GateReport gate = of_one_metric(Verdict::not_regressed);
  gate.margin_of_noise = true;
  gate.metrics[0].margin = gate.margin = 0.08;
  EXPECT_TRUE(gate_page(gate).verdict.starts_with("No: conv batch=1 did not regress by 8.0 % or"));
  gate.metrics.push_back(gate.metrics[0]);
  gate.metrics[1].margin = 0.01;
  EXPECT_EQ(gate_page(gate).verdict,
            "No: none of 2 metrics regressed by its margin (1.0 % to 8.0 %) or more.");
}

TEST(GatePage, SaysWhatTheNewVersionDidNotMeasure) {
  GateReport gate = of_one_metric(Verdict::not_regressed);
  gate.missing = {{"copy", "time", "s"}, {"triad", "time", "s"}};
  const Page page = gate_page(gate);
  EXPECT_TRUE(page.verdict.ends_with("; the new version did not measure 2 metrics of the base."))
      << page.verdict;
  EXPECT_EQ(page.tone, Tone::caution);
  ASSERT_EQ(page.tiles.size(), 6U);
  EXPECT_EQ(page.tiles[3].name, "Not measured in the new version");
  EXPECT_EQ(page.tiles[3].value, "2");
}

TEST(GatePage, SaysThatNothingIsKnownToHaveChangedWhereMetricsAreOpen) {
  const auto says = [](const GateReport& gate) {
    const Page page = gate_page(gate);
    return std::get<Paragraph>(page.sections.front().blocks.at(1)).text;
  };
  EXPECT_EQ(says(of_one_metric(Verdict::not_regressed)),
            "No metric regressed by its margin or more.");
  GateReport open = of_one_metric(Verdict::inconclusive);
  EXPECT_EQ(says(open), "No metric is known to have changed by its margin or more.");
  open.metrics[0].ratio_low.reset();
  open.metrics[0].ratio_high.reset();
  EXPECT_EQ(gate_page(open).verdict,
            "Not known yet: conv batch=1 changed by +6.0 % (too few rounds for an interval), and "
            "1.0 % or more would be a regression.");
}

TEST(GatePage, OfOneMetricShowsBothVersionsInPlaceOfCounts) {
  const std::vector<Tile> tiles = gate_page(of_one_metric(Verdict::regressed)).tiles;
  ASSERT_EQ(tiles.size(), 5U);
  EXPECT_EQ(tiles[0].value, "1.000 ms");
  EXPECT_EQ(tiles[1].value, "1.060 ms");
  EXPECT_EQ(tiles[1].detail, "conv batch=1, middle of 10 rounds");
  EXPECT_EQ(tiles[2].value, "+6.0 %");
  EXPECT_EQ(tiles[2].detail, "96 % interval +4.9 % to +7.1 %");
  EXPECT_EQ(tiles[2].tone, Tone::bad);
}

TEST(GatePage, LeavesOutVerdictsThatNoMetricHas) {
  GateReport gate = samples::gate();
  gate.metrics.erase(gate.metrics.begin(), gate.metrics.begin() + 3);
  const std::vector<Tile> tiles = gate_page(gate).tiles;
  ASSERT_EQ(tiles.size(), 3U);
  EXPECT_EQ(tiles[0].name, "Regressed metrics");
  EXPECT_EQ(tiles[0].value, "0 of 2");
}

TEST(GatePage, NamesTheTimeOfACommandInWords) {
  GateReport gate = of_one_metric(Verdict::regressed);
  gate.metrics[0].key = "command";
  gate.metrics[0].series = "wall";
  EXPECT_TRUE(gate_page(gate).verdict.starts_with("Yes: time of the command regressed by +6.0 %"));
}

TEST(GatePage, SaysWhatTheSessionShowsAndWhetherTheBaseAgreesWithItself) {
  GateReport gate = samples::gate();
  const std::vector<Tile> tiles = gate_page(gate).tiles;
  ASSERT_EQ(tiles.size(), 5U);
  const Tile& smallest = tiles[3];
  EXPECT_EQ(smallest.name, "Smallest change it shows");
  EXPECT_TRUE(smallest.detail.ends_with("in 8 of 10 cases, by 10 rounds")) << smallest.detail;
  EXPECT_EQ(tiles[4].value, "10");
  EXPECT_EQ(tiles[4].detail, "of at most 40");
  EXPECT_EQ(gate_page(gate).data->reasons,
            "10 interleaved rounds; the base agrees with itself (A/A test).");
  gate.canary = GateCanary::not_run;
  EXPECT_EQ(gate_page(gate).data->reasons,
            "10 interleaved rounds; without an A/A test, which compares the base with itself.");
  gate.canary = GateCanary::alarmed;
  const Page doubtful = gate_page(gate);
  EXPECT_EQ(doubtful.verdict, "Not known: the base differs from itself (A/A test).");
  EXPECT_EQ(doubtful.data->word, "Doubtful");
  for (const Tile& tile : doubtful.tiles) EXPECT_EQ(tile.tone, Tone::plain) << tile.name;
}

}  // namespace
}  // namespace dlscale::report
