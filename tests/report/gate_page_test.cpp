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
            "Yes: 1 of 5 metrics regressed: conv batch=1 by +6.0 % (interval +4.9 % to +7.1 %).");
  EXPECT_EQ(gate_page(of_one_metric(Verdict::regressed)).verdict,
            "Yes: conv batch=1 regressed by +6.0 % (interval +4.9 % to +7.1 %).");
  EXPECT_EQ(gate_page(of_one_metric(Verdict::improved)).verdict,
            "No: nothing regressed, and conv batch=1 improved by +6.0 % (interval +4.9 % to +7.1 "
            "%).");
  EXPECT_EQ(gate_page(of_one_metric(Verdict::not_regressed)).verdict,
            "No: none of 1 metric regressed by 1.0 % or more.");
}

TEST(GatePage, SaysOfAnOpenGateWhatIsStillPossible) {
  EXPECT_EQ(gate_page(of_one_metric(Verdict::inconclusive)).verdict,
            "Not known yet: conv batch=1 changed by +4.9 % to +7.1 %, and 1.0 % or more would be a "
            "regression.");
  GateReport gate = samples::gate();
  gate.metrics[0].verdict = Verdict::inconclusive;
  EXPECT_EQ(gate_page(gate).verdict,
            "Not known yet: none of 5 metrics has regressed for sure, but 2 may have, by 1.0 % or "
            "more.");
}

TEST(GatePage, NamesTheTimeOfACommandInWords) {
  GateReport gate = of_one_metric(Verdict::regressed);
  gate.metrics[0].key = "command";
  gate.metrics[0].series = "wall";
  EXPECT_TRUE(gate_page(gate).verdict.starts_with("Yes: time of the command regressed by +6.0 %"));
}

TEST(GatePage, SaysWhatTheSessionShowsAndWhetherTheBaseAgreesWithItself) {
  GateReport gate = samples::gate();
  const Tile smallest = gate_page(gate).tiles.back();
  EXPECT_EQ(smallest.name, "Smallest change that it shows");
  EXPECT_TRUE(smallest.detail.starts_with("in 8 of 10 cases after 40 rounds")) << smallest.detail;
  EXPECT_EQ(gate_page(gate).data->reasons,
            "10 interleaved rounds; the base agrees with itself (A/A test).");
  gate.canary = GateCanary::not_run;
  EXPECT_EQ(gate_page(gate).data->reasons,
            "10 interleaved rounds; without an A/A test, which compares the base with itself.");
  gate.canary = GateCanary::alarmed;
  const Page doubtful = gate_page(gate);
  EXPECT_EQ(doubtful.verdict, "Not known: the base differs from itself (A/A test).");
  EXPECT_EQ(doubtful.data->word, "Doubtful");
}

}  // namespace
}  // namespace dlscale::report
