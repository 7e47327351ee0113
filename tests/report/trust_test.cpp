#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <variant>
#include <vector>

#include "report/sections.hpp"
#include "report/suite_record.hpp"
#include "report/trust_rows.hpp"
#include "report/trust_section.hpp"
#include "tests/report/look_at.hpp"
#include "tests/report/samples.hpp"

namespace dlscale::report {
namespace {

/// A page of so many times of one kernel, with ten samples each.
ReportInput page_of(std::vector<std::vector<double>> times) {
  std::vector<Measurement> rows;
  for (std::vector<double>& samples : times) {
    rows.push_back(samples::timed("gemm", {{"kernel", "gemm m" + std::to_string(rows.size())}},
                                  std::move(samples)));
    rows.back().max_relative_error = 1e-6;
  }
  ReportInput input;
  input.trained = false;
  input.results = {samples::file("gemm", std::move(rows))};
  input.results.front().header.environment.flags = "-O3";
  input.results.front().header.environment.commit = "0123456789abcdef";
  return input;
}

std::vector<double> steady() {
  return {1.00, 1.01, 1.00, 0.99, 1.01, 1.00, 0.99, 1.00, 1.01, 1.00};
}

ReportInput calm_page() {
  return page_of({steady()});
}

CellOutcome outcome(const std::string& name, const std::string& status, bool is_fine) {
  CellOutcome cell;
  cell.cell = name;
  cell.status = status;
  cell.is_fine = is_fine;
  if (status != "left") cell.started = "2026-01-01T00:00:00Z";
  return cell;
}

TEST(Trust, CountsWhatBecameOfMeasurements) {
  ReportInput input = page_of({steady(), steady(), steady()});
  EXPECT_EQ(validity_row(input).verdict, "ok");
  EXPECT_EQ(validity_row(input).seen, "3 measurements: 3 ok");
  input.results[0].measurements[1].status = Status::unstable;
  EXPECT_EQ(validity_row(input).verdict, "look");
  input.results[0].measurements[2].status = Status::wrong;
  EXPECT_EQ(validity_row(input).verdict, "bad");
  EXPECT_EQ(validity_row(input).seen, "3 measurements: 1 ok, 1 unstable, 1 wrong");
  input.results[0].complete = false;
  EXPECT_TRUE(contains(validity_row(input).seen, "1 of 1 files end early"));
}

TEST(Trust, CountsCellsThatFailedAndThatAreLeft) {
  ReportInput input = calm_page();
  input.suites = {
      {"out", "suite", "", "", 1, {outcome("a", "ok", true), outcome("b", "left", true)}, {}}};
  EXPECT_EQ(validity_row(input).verdict, "look");
  EXPECT_TRUE(contains(validity_row(input).seen, "1 cell left to be carried out"));
  input.suites[0].cells.push_back(outcome("c", "crashed", false));
  EXPECT_EQ(validity_row(input).verdict, "bad");
  EXPECT_TRUE(contains(validity_row(input).seen, "1 cell failed"));
}

TEST(Trust, HasNothingToBelieveWithoutAMeasurement) {
  ReportInput input;
  input.trained = false;
  EXPECT_EQ(validity_row(input).verdict, "bad");
  for (const TrustRow& row : {within_run_row(input), between_runs_row(input), neighbours_row(input),
                              smallest_row(input), canary_row(input), disturbed_row(input),
                              throttling_row(input), load_row(input), settings_row(input)}) {
    EXPECT_EQ(row.verdict, "not known") << row.what;
  }
}

TEST(Trust, TellsOfAnswersThatNobodyChecked) {
  ReportInput input = calm_page();
  EXPECT_EQ(answers_row(input).verdict, "ok");
  EXPECT_TRUE(contains(answers_row(input).seen, "1 of 1 measurement"));
  input.results[0].header.run["check"] = "no";
  EXPECT_EQ(answers_row(input).verdict, "look");
}

TEST(Trust, TellsWhatTheCanarySaidOfEachCall) {
  ReportInput input = calm_page();
  input.suites = {
      {"out", "suite", "", "", 1, {}, {{"t", "h", true, "+0.1 %", "+0.1 %", "+0.1 %"}}}};
  EXPECT_EQ(canary_row(input).verdict, "ok");
  input.suites[0].canaries.push_back({"u", "h", false, "+3.0 %", "+0.1 %", "+0.1 %"});
  EXPECT_EQ(canary_row(input).verdict, "bad");
  EXPECT_EQ(canary_row(input).seen, "a kernel beside itself: 1 of 2 calls alarmed");
}

TEST(Trust, HoldsFixedWorkBesideEachRowAgainstTheBestOfItsFile) {
  ReportInput input = page_of({steady(), steady()});
  input.results[0].measurements[0].series["witness"] = make_series("s", {{1.00, 1.02}});
  input.results[0].measurements[1].series["witness"] = make_series("s", {{1.01, 1.05}});
  EXPECT_EQ(disturbed_row(input).verdict, "ok");
  input.results[0].measurements[1].series["witness"] = make_series("s", {{1.01, 1.10}});
  EXPECT_EQ(disturbed_row(input).verdict, "look");
  EXPECT_TRUE(contains(disturbed_row(input).seen, "beside 1 of 2 rows"));
}

TEST(Trust, TellsALimitOfPowerFromHeat) {
  ReportInput input = calm_page();
  Measurement& row = input.results[0].measurements[0];
  row.series["throttle_reasons"] = make_series("1", {{0, 4, 4}});
  EXPECT_EQ(throttling_row(input).verdict, "ok");
  EXPECT_TRUE(contains(throttling_row(input).seen, "1 at the limit of power"));
  row.series["throttle_reasons"] = make_series("1", {{0, 4, 0x40}});
  EXPECT_EQ(throttling_row(input).verdict, "look");
}

TEST(Trust, CountsCellsWhoseProcessorsWereSlowedByHeat) {
  ReportInput input = calm_page();
  input.suites = {
      {"out", "suite", "", "", 1, {outcome("a", "ok", true), outcome("b", "ok", true)}, {}}};
  EXPECT_EQ(throttling_row(input).verdict, "ok");
  input.suites[0].cells[1].slowed_by_heat = 3;
  EXPECT_EQ(throttling_row(input).verdict, "look");
  EXPECT_EQ(throttling_row(input).seen, "1 of 2 cells throttled");
}

TEST(Trust, LooksAtTheLoadWhenFilesWereBegun) {
  ReportInput input = calm_page();
  input.results[0].header.environment.load = "0.30 0.20 0.10 1/100 1";
  EXPECT_EQ(load_row(input).verdict, "ok");
  input.results[0].header.environment.load = "2.50 0.20 0.10 1/100 1";
  EXPECT_EQ(load_row(input).verdict, "look");
  input.results[0].header.environment.load = "unknown";
  EXPECT_EQ(load_row(input).verdict, "not known");
}

TEST(Trust, MeasuresTheNoiseOfSamplesAndMedians) {
  const TrustRow calm = within_run_row(calm_page());
  EXPECT_EQ(calm.verdict, "ok");
  // 1.4826 times the median deviation, 0.005, of the median 1.
  EXPECT_TRUE(contains(calm.seen, "samples spread by 0.7 %")) << calm.seen;
  EXPECT_TRUE(contains(calm.seen, "medians are known to ± 1.0 %")) << calm.seen;
  const TrustRow noisy = within_run_row(page_of({{1.0, 1.3, 0.8, 1.2, 0.9, 1.1, 1.3, 0.7}}));
  EXPECT_EQ(noisy.verdict, "look");
}

TEST(Trust, FindsTheSmallestChangeFromTheIntervalsOfMedians) {
  // 2.802 · √2 / 1.960 of ± 1.0 % is 2.0 %.
  EXPECT_TRUE(contains(smallest_row(calm_page()).seen, "2.0 % in the middle"))
      << smallest_row(calm_page()).seen;
  ReportInput studied = calm_page();
  studied.noise = {{"noise.json", "this machine", "2026-01-01", "3.0 % or more"}};
  EXPECT_EQ(smallest_row(studied).seen, "3.0 % or more (this machine, 2026-01-01)");
}

TEST(Trust, ComparesWhatWasMeasuredMoreThanOnceByOneVersionAlone) {
  ReportInput input = page_of({{1.0, 1.0}, {2.0, 2.0}});
  EXPECT_EQ(between_runs_row(input).verdict, "not known");
  ResultFile again = input.results[0];
  again.measurements[0].series["time"] = make_series("s", {{1.2, 1.2}});
  again.measurements[0].axes["repeat"] = "1";
  input.results.push_back(again);
  EXPECT_EQ(between_runs_row(input).verdict, "look");
  EXPECT_TRUE(contains(between_runs_row(input).seen, "2 questions measured more than once"));
  input.results[1].header.environment.commit = "another";
  EXPECT_EQ(between_runs_row(input).verdict, "not known");
}

TEST(Trust, SeesSamplesThatDrift) {
  EXPECT_EQ(neighbours_row(page_of({{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}})).verdict, "look");
  EXPECT_EQ(neighbours_row(page_of({{1, 9, 2, 8, 3, 7, 4, 6, 5, 10}})).verdict, "ok");
}

TEST(Trust, NamesTheBuildAndWhatIsOddAboutIt) {
  ReportInput input = calm_page();
  EXPECT_EQ(build_row(input).verdict, "ok");
  Environment& environment = input.results[0].header.environment;
  environment.dirty = true;
  EXPECT_EQ(build_row(input).verdict, "look");
  environment.flags = "-O1 -fsanitize=address";
  EXPECT_EQ(build_row(input).verdict, "bad");
  EXPECT_TRUE(contains(build_row(input).seen, "with sanitizers"));
  environment.flags = "-g";
  EXPECT_TRUE(contains(build_row(input).seen, "without optimisation"));
  environment = {};
  EXPECT_EQ(build_row(input).verdict, "not known");
}

TEST(Trust, NamesWhatFilesDifferInButNotWhenTheyWereMade) {
  ReportInput input = calm_page();
  EXPECT_EQ(differences_row(input).verdict, "one file");
  input.results.push_back(input.results[0]);
  input.results[1].path = "other.jsonl";
  input.results[1].header.environment.date = "2030-01-01T00:00:00Z";
  input.results[1].header.environment.load = "9 9 9 1/1 1";
  EXPECT_EQ(differences_row(input).verdict, "ok");
  input.results[1].header.environment.compiler = "another";
  EXPECT_EQ(differences_row(input).verdict, "look");
  EXPECT_EQ(differences_row(input).seen, "compiler");
  const auto differences = environment_differences(input.results);
  ASSERT_EQ(differences.size(), 1U);
  EXPECT_EQ(differences[0].files.at("another"), (std::vector<std::string>{"other.jsonl"}));
  EXPECT_EQ(differences[0].files.at(""), (std::vector<std::string>{"gemm.jsonl"}));
}

TEST(Trust, NamesFactsThatNobodyCouldRead) {
  ReportInput input = calm_page();
  EXPECT_TRUE(contains(unknown_row(input).seen, "1 of 1 files"));
  input.results[0].header.environment.facts = {{"turbo", "on"}};
  EXPECT_EQ(unknown_row(input).verdict, "ok");
  input.results[0].header.environment.facts["clocks"] = "unavailable: /proc/cpuinfo has no cpu MHz";
  EXPECT_EQ(unknown_row(input).verdict, "not known");
  EXPECT_EQ(unknown_row(input).seen, "could not be read: clocks");
  EXPECT_EQ(unread_facts(input.results).at("clocks").front(), "/proc/cpuinfo has no cpu MHz");
}

TEST(Trust, TellsHowFarPredictionsAreOff) {
  ReportInput input = samples::report_input();
  EXPECT_TRUE(contains(prediction_row(input).seen, "the iteration of "));
  input.limits = {1e-9, 1e-9, {}};
  EXPECT_EQ(prediction_row(input).verdict, "bad");
  EXPECT_EQ(prediction_row(calm_page()).verdict, "none");
}

TEST(Trust, StandsOnEveryPageBeforeWhatWasMeasured) {
  for (const ReportInput& input : {samples::report_input(), samples::parts_input(), calm_page()}) {
    const std::vector<Section> sections = report_sections(input, {});
    const auto trust = std::ranges::find(sections, "trust", &Section::id);
    ASSERT_NE(trust, sections.end());
    EXPECT_LE(trust - sections.begin(), 1);
    const Table& table = std::get<Table>(trust->blocks.front());
    EXPECT_EQ(table.rows.size(), 15U);
    for (const auto& row : table.rows) EXPECT_FALSE(row.at(1).text.empty()) << row.at(0).text;
  }
}

TEST(SuiteSection, HasCellsThatCrashedAndThatAreLeftAsRows) {
  ReportInput input = calm_page();
  CellOutcome crashed = outcome("gemm-2", "crashed", false);
  crashed.reason = "signal 9";
  crashed.exit_code = 137;
  crashed.command = "dlscale bench gemm";
  input.suites = {{"out",
                   "matrix",
                   "build",
                   "local",
                   7,
                   {outcome("gemm-1", "ok", true), crashed, outcome("gemm-3", "left", true)},
                   {}}};
  const Section section = suite_section(input);
  EXPECT_TRUE(contains(std::get<Paragraph>(section.blocks.at(0)).text,
                       "matrix, 3 cells: 1 crashed, 1 left, 1 ok. On local; seed 7"));
  const Table& trouble = std::get<Table>(section.blocks.at(1));
  ASSERT_EQ(trouble.rows.size(), 2U);
  EXPECT_EQ(cell(trouble, 0, "cell"), "gemm-2");
  EXPECT_EQ(cell(trouble, 0, "reason"), "signal 9");
  EXPECT_EQ(cell(trouble, 0, "exit code"), "137");
  EXPECT_EQ(cell(trouble, 1, "status"), "left");
  EXPECT_EQ(std::get<Folded>(section.blocks.at(2)).table.rows.size(), 3U);
  EXPECT_EQ(suite_troubles(input).size(), 1U);
  EXPECT_EQ(report_sections(input, {}).front().id, "cells");
}

}  // namespace
}  // namespace dlscale::report
