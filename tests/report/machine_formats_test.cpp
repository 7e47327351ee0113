#include <gtest/gtest.h>

#include <fmt/format.h>

#include <sstream>
#include <stdexcept>
#include <string>

#include "core/base/error.hpp"
#include "regression/gate/gate_report.hpp"
#include "report/format/file_kind.hpp"
#include "report/format/format.hpp"
#include "report/format/text_width.hpp"
#include "report/results/result_table.hpp"
#include "report/sections/gate_sections.hpp"
#include "report/sections/report.hpp"
#include "report/sections/summary.hpp"
#include "report/table/field_table.hpp"
#include "tests/report/look_at.hpp"
#include "tests/report/records_declared.hpp"
#include "tests/report/samples.hpp"
#include "tests/report/series_of.hpp"

namespace dlscale::report {
namespace {

using regression::Direction;
using regression::GateMethod;
using regression::GateMetric;
using regression::GatePair;
using regression::GateReport;
using regression::Verdict;

std::string written(const char* name, const Document& document) {
  return format::find_format(name).write(document, {});
}

Document without_verdicts() {
  Document document;
  document.lead = "nothing to judge";
  document.tables = {{"Names", {{"name", Align::left}}, {{{"a"}}}, {}}};
  document.records = {"", {{"name", Align::left, Meaning::key}}, {{{"a"}}}, {}};
  document.json = std::string(R"({"schema": "dlscale.names", "version": 1})");
  return document;
}

/// A gate of so many regressed and so many unchanged metrics.
GateReport large_gate(int regressed, int unchanged) {
  GateReport gate = samples::gate();
  const GateMetric worse = gate.metrics[0];
  const GateMetric same = gate.metrics[3];
  gate.metrics.clear();
  for (int i = 0; i < regressed; ++i) {
    gate.metrics.push_back(worse);
    gate.metrics.back().key = fmt::format("conv layer={}", i);
    gate.metrics.back().ratio = 1.02 + 0.001 * i;
  }
  for (int i = 0; i < unchanged; ++i) {
    gate.metrics.push_back(same);
    gate.metrics.back().key = fmt::format("copy size={}", i);
  }
  return gate;
}

TEST(Comment, StaysWithinWhatACodeHostTakesAndSaysHowManyMore) {
  struct Rows {
    int regressed = 0;
    int unchanged = 0;
  };
  for (const auto [regressed, unchanged] :
       {Rows{1, 10}, Rows{0, 900}, Rows{900, 1}, Rows{900, 900}}) {
    const std::string text = format::file_text(format::find_format("comment"),
                                               gate_document(large_gate(regressed, unchanged)));
    EXPECT_LE(text.size(), 65'536U);
    const bool all_fit = regressed + unchanged < 100;
    EXPECT_EQ(contains(text, " more: the page of ") || contains(text, "do not fit here"), !all_fit);
  }
}

TEST(Comment, KeepsTheLargestChangesWhereNotAllFit) {
  const std::string text = written("comment", gate_document(large_gate(1000, 0)));
  EXPECT_TRUE(contains(text, "conv layer=999 "));
  EXPECT_FALSE(contains(text, "conv layer=0 "));
}

/// Lines that a reader sees: those outside of what is folded, and a line for each fold.
long long open_lines(const std::string& text) {
  std::istringstream lines(text);
  long long open = 0;
  bool folded = false;
  for (std::string line; std::getline(lines, line);) {
    if (line == "</details>") folded = false;
    open += !folded && !line.empty() && line != "</details>" && !line.starts_with("<!--");
    if (line == "<details>") folded = true;
  }
  return open;
}

TEST(Comment, HasAtMostFortyOpenLinesAndWhatRegressedFirst) {
  for (const auto& [regressed, unchanged] : {std::pair{2, 2}, std::pair{10, 300}, {300, 10}}) {
    GateReport gate = large_gate(regressed, unchanged);
    GateMetric better = gate.metrics.front();
    better.key = "improved most";
    better.verdict = Verdict::improved;
    better.ratio = 0.1;
    gate.metrics.insert(gate.metrics.begin(), better);
    const std::string text = written("comment", gate_document(gate));
    EXPECT_LE(open_lines(text), 36) << text.substr(0, 4000);  // a recipe of CI adds four
    const std::size_t first = text.find("| conv layer=");
    EXPECT_LT(first, text.find("| improved most "));
    EXPECT_LT(first, text.find("<details>"));
    EXPECT_EQ(contains(text, "more: "), regressed == 300);
  }
}

TEST(Comment, FoldsNotesThatLeaveNoRoomForRows) {
  Document document = gate_document(large_gate(300, 10));
  Table& table = document.tables.front();
  for (int i = 0; i < 200; ++i) table.notes.push_back(fmt::format("interval {}: by bootstrap", i));
  const std::string text = written("comment", document);
  EXPECT_LE(open_lines(text), 36) << text.substr(0, 4000);
  EXPECT_TRUE(contains(text.substr(0, text.find("<details>")), "| conv layer=290 "));
  EXPECT_TRUE(contains(text, ": 200 notes</summary>"));
  EXPECT_TRUE(contains(text, "\n* interval 199: by bootstrap\n"));
}

TEST(Comment, CutsALongHeadline) {
  Document document = gate_document(samples::gate());
  document.lead = std::string(130, 'x') + std::string(40, '+') + "é";
  const std::string text = written("comment", document);
  EXPECT_TRUE(contains(text, std::string(130, 'x') + std::string(9, '+') + "…\n"));
}

TEST(MachineFormats, RefuseADocumentThatHasNothingForThem) {
  for (const char* name : {"comment", "junit", "openmetrics", "bencher"}) {
    EXPECT_THROW(static_cast<void>(written(name, without_verdicts())), ConfigError) << name;
  }
}

TEST(MachineFormats, RefuseColumnsWithoutAMeaningInsteadOfLeavingThemOut) {
  Document document = without_verdicts();
  add_columns(document.records.columns, Meaning::value, {"time_s"});
  document.records.columns.push_back({"better"});
  document.records.rows = {{{"a"}, {"0.5"}, {"smaller"}}};
  for (const char* name : {"openmetrics", "bencher"}) {
    EXPECT_THROW(static_cast<void>(written(name, document)), std::logic_error) << name;
  }
}

TEST(MachineFormats, AreKnownAgainAsAFileOfTheirKindAndNoOther) {
  const Document gate = gate_document(samples::gate());
  for (const char* name : {"comment", "junit", "openmetrics"}) {
    std::istringstream own(format::file_text(format::find_format(name), gate));
    EXPECT_TRUE(format::is_of_kind(own, gate)) << name;
    std::istringstream other(format::file_text(format::find_format(name), gate));
    EXPECT_FALSE(format::is_of_kind(other, without_verdicts())) << name;
  }
}

TEST(Junit, TellsStatusesOfMeasurementsApart) {
  Document document = without_verdicts();
  document.records.columns = {{"benchmark"}, {"batch"}, {"status"}, {"time_s"}};
  for (const char* status : {"ok", "unstable", "wrong", "unsupported"}) {
    document.records.rows.push_back({{"conv"}, {"8"}, {status}, {"0.5"}});
  }
  document.records.rows.erase(document.records.rows.begin());
  const std::string text = written("junit", document);
  EXPECT_TRUE(contains(text, R"(tests="4" failures="0" errors="1" skipped="1")"));
  EXPECT_TRUE(contains(text, R"(name="conv batch=8" time="0.5")"));
  EXPECT_TRUE(contains(text, R"-(name="conv batch=8 (4)" time="0.5")-"))
      << "readers go by the name";
}

TEST(Junit, FailsForAnImprovementWhereThatIsAskedFor) {
  Document document = gate_document(samples::gate());
  EXPECT_TRUE(contains(written("junit", document), R"(tests="5" failures="1" errors="0")"));
  document.improvement_fails = true;
  EXPECT_TRUE(contains(written("junit", document), R"(tests="5" failures="2" errors="0")"));
}

TEST(OpenMetrics, HasTheSameSeriesInEveryRunWhateverWasMeasured) {
  const GateReport before = samples::gate();
  GateReport after = before;
  for (GateMetric& metric : after.metrics) {
    metric.base *= 1.1;
    metric.changed *= 1.3;
    metric.ratio = 1.2;
    metric.p = metric.p_adjusted = 0.01;
    metric.rounds = 40;
    metric.method = GateMethod::sign_test;
    metric.verdict = Verdict::regressed;
    metric.ratio_high = 1.3;
    metric.note = "another";
  }
  after.metrics[2].ratio_high.reset();
  expect_declared(gate_document(before));
  expect_same_series(gate_document(before), gate_document(after));
  after.machine = "Another CPU";
  EXPECT_NE(series_of(gate_document(before)), series_of(gate_document(after)));
}

TEST(OpenMetrics, PutsValuesOfOtherUnitsInOtherFamilies) {
  GateReport gate = samples::gate();
  gate.metrics[1].unit = "B/s";
  gate.metrics[2].unit = "items/s";
  gate.metrics[3].unit = "1";
  const std::string text = written("openmetrics", gate_document(gate));
  for (const char* family :
       {"base_seconds seconds", "base_bytes_per_second bytes_per_second", "base_items_s items_s"}) {
    EXPECT_TRUE(contains(text, fmt::format("# UNIT dlscale_gate_{}\n", family))) << text;
  }
  EXPECT_TRUE(contains(text, "dlscale_gate_base{machine=\"Sample CPU\",key=\"copy\""));
  EXPECT_FALSE(contains(text, "unit=")) << text;
}

TEST(OpenMetrics, TellsVerdictsAsStatesOfWhichOneHolds) {
  const std::string text = written("openmetrics", gate_document(samples::gate()));
  EXPECT_TRUE(contains(text, "# TYPE dlscale_gate_verdict stateset\n"));
  const std::string copy =
      "dlscale_gate_verdict{machine=\"Sample CPU\",key=\"copy\",series=\"time\","
      "direction=\"smaller_is_better\",statistic=\"minimum\",dlscale_gate_verdict=";
  EXPECT_TRUE(contains(text, copy + "\"not regressed\"} 1\n")) << text;
  for (const char* other : {"regressed", "improved", "inconclusive"}) {
    EXPECT_TRUE(contains(text, fmt::format("{}\"{}\"}} 0\n", copy, other))) << text;
  }
}

/// Of a suite of which nothing could be measured.
ReportInput suite_that_failed() {
  ReportInput input;
  input.trained = false;
  SuiteRecord suite;
  suite.folder = "out";
  suite.suite = "quick";
  suite.system = "local";
  for (const char* status : {"ok", "crashed", "timeout", "wrong", "failed", "unsupported"}) {
    CellOutcome cell;
    cell.cell = fmt::format("gemm-{}", status);
    cell.status = status;
    cell.is_fine = cell.status == "ok" || cell.status == "unsupported";
    cell.reason = cell.is_fine ? "" : "its last words were: no memory";
    cell.started = "2026-11-23T05:00:00Z";
    cell.seconds = 1.5;
    suite.cells.push_back(cell);
  }
  CellOutcome left;
  left.cell = "gemm-left";
  left.status = "left";
  left.is_fine = false;
  suite.cells.push_back(left);
  input.suites = {suite};
  return input;
}

TEST(Junit, FailsWhereCellsOfASuiteDid) {
  const std::string text = written("junit", parts_document(suite_that_failed()));
  EXPECT_TRUE(contains(text, R"(tests="7" failures="1" errors="3" skipped="2")")) << text;
  EXPECT_TRUE(contains(text, R"(name="suite=quick cell=gemm-crashed" time="1.5")")) << text;
  EXPECT_TRUE(contains(text, "no memory"));
}

TEST(MachineFormats, TellOfASuiteWithoutAnyMeasurement) {
  const Document document = parts_document(suite_that_failed());
  expect_declared(document);
  EXPECT_TRUE(document.lead.starts_with("quick, 7 cells: 1 crashed, 1 failed, 1 left, 1 ok"));
  EXPECT_TRUE(contains(written("comment", document), "no memory"));
  EXPECT_TRUE(contains(written("json", document), R"("status": "crashed")"));
  const std::string metrics = written("openmetrics", document);
  EXPECT_TRUE(contains(metrics,
                       "dlscale_result_summary_cell_status{suite=\"quick\",cell=\"gemm-wrong\","
                       "system=\"local\",dlscale_result_summary_cell_status=\"wrong\"} 1\n"))
      << metrics;
  EXPECT_TRUE(contains(metrics,
                       "dlscale_result_summary_cell_time_seconds{suite=\"quick\","
                       "cell=\"gemm-ok\",system=\"local\"} 1.5\n"))
      << metrics;
}

TEST(OpenMetrics, SpellsUnitsOutAndKeepsRowsApart) {
  Document document = without_verdicts();
  document.records.columns.clear();
  add_columns(document.records.columns, Meaning::key, {"name"});
  add_columns(document.records.columns, Meaning::value,
              {"time_s", "busbw_bytes_per_s", "moves_per_s"});
  add_columns(document.records.columns, Meaning::key, {"batch"});
  document.records.rows = {{{"a"}, {"0.5"}, {"2e9"}, {"3"}, {"8"}},
                           {{"a"}, {"0.25"}, {""}, {""}, {"8"}}};
  const std::string text = written("openmetrics", document);
  EXPECT_TRUE(contains(text, "# UNIT dlscale_names_time_seconds seconds\n"));
  EXPECT_TRUE(contains(text, "dlscale_names_time_seconds{name=\"a\",batch=\"8\"} 0.5\n"));
  EXPECT_TRUE(contains(text, "{name=\"a\",batch=\"8\",row=\"1\"} 0.25\n"));
  EXPECT_TRUE(contains(text, "dlscale_names_busbw_bytes_per_second{name=\"a\",batch=\"8\"} 2e9\n"));
  EXPECT_TRUE(contains(text, "# UNIT dlscale_names_moves_per_second per_second\n"));
}

TEST(GateSections, FigureSignsAreWorseUpwardWhateverTheDirection) {
  GateReport gate = samples::gate();
  gate.metrics.resize(1);
  GateMetric& metric = gate.metrics.front();
  metric.direction = Direction::larger_is_better;
  for (GatePair& pair : metric.pairs) {
    pair.base = 106;
    pair.changed = 100;
  }
  const Figures figures = gate_figures(gate);
  ASSERT_EQ(figures.size(), 2U);
  EXPECT_TRUE(contains(figures[1].svg, "round 1: +6.0 %"));
}

TEST(GateSections, SayWhatMoreRoundsWouldTakeAndWhetherTheMachineWasSteady) {
  GateReport gate = samples::gate();
  gate.metrics[2].ratio = 1.03;
  gate.metrics[2].ratio_low = 1.0;
  gate.metrics[2].ratio_high = 1.06;
  gate.load = {0.1, 2.5};
  gate.set_aside = 2;
  const std::string page = html(gate_page(gate));
  for (const char* said :
       {"more rounds needed", "about 13", "in 8 of 10 gates of 10 rounds: about",
        "Load before runs: 0.10 to 2.50.", "slowed or held back: 2 rounds"}) {
    EXPECT_TRUE(contains(page, said)) << said;
  }
  const std::string table = written("markdown", gate_document(gate));
  EXPECT_TRUE(contains(table, "more rounds needed")) << table;
  gate.unsteady = true;
  EXPECT_FALSE(contains(html(gate_page(gate)), "more rounds needed"));
}

TEST(GateSections, OfAGateWithoutMetricsSayThatNothingChanged) {
  GateReport gate = samples::gate();
  gate.metrics.clear();
  EXPECT_TRUE(gate_figures(gate).empty());
  EXPECT_TRUE(contains(html(gate_page(gate)),
                       "No metric is known to have changed by its margin or more."));
}

}  // namespace
}  // namespace dlscale::report
