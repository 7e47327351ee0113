#include "report/sections/quality.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "report/results/environment_rows.hpp"
#include "report/results/result_table.hpp"
#include "tests/report/look_at.hpp"
#include "tests/report/samples.hpp"

namespace dlscale::report {
namespace {

using enum QualityResult;

/// A page of as many kernels as there are lists of times.
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

SuiteRecord suite_of(std::vector<CellOutcome> cells, std::vector<CanaryOutcome> canaries = {}) {
  return {"out", "matrix", "build", "local", 7, std::move(cells), std::move(canaries)};
}

std::optional<QualityCheck> find(const ReportInput& input, QualityKind kind) {
  const std::vector<QualityCheck> checks = quality_checks(input);
  const auto found = std::ranges::find(checks, kind, &QualityCheck::kind);
  return found == checks.end() ? std::nullopt : std::optional(*found);
}

/// Requires that the page allows the check.
QualityResult result(const ReportInput& input, QualityKind kind) {
  return find(input, kind).value().result;
}
std::string text(const ReportInput& input, QualityKind kind) {
  return sentence(find(input, kind).value());
}

TEST(Quality, CountsStatusesOfMeasurements) {
  constexpr auto kind = QualityKind::validity;
  ReportInput input = page_of({steady(), steady(), steady()});
  EXPECT_EQ(result(input, kind), pass);
  EXPECT_EQ(text(input, kind), "3 measurements, 3 ok");
  input.results[0].measurements[1].status = Status::unstable;
  EXPECT_EQ(result(input, kind), warn);
  input.results[0].measurements[2].status = Status::wrong;
  EXPECT_EQ(result(input, kind), fail);
  EXPECT_EQ(text(input, kind), "3 measurements, 1 ok, 1 unstable, 1 wrong");
  input.results[0].complete = false;
  EXPECT_TRUE(contains(text(input, kind), "1 file incomplete"));
}

TEST(Quality, CountsCellsThatFailedAndThatAreLeft) {
  constexpr auto kind = QualityKind::validity;
  ReportInput input = calm_page();
  input.suites = {suite_of({outcome("a", "ok", true), outcome("b", "left", true)})};
  EXPECT_EQ(result(input, kind), warn);
  EXPECT_TRUE(contains(text(input, kind), "1 cell not run yet"));
  input.suites[0].cells.push_back(outcome("c", "crashed", false));
  EXPECT_EQ(result(input, kind), fail);
  EXPECT_TRUE(contains(text(input, kind), "1 cell failed"));
}

TEST(Quality, HasNoCheckThatTheResultsDoNotAllow) {
  ReportInput input;
  input.trained = false;
  const std::vector<QualityCheck> checks = quality_checks(input);
  ASSERT_EQ(checks.size(), 1U);
  EXPECT_EQ(checks[0].kind, QualityKind::validity);
  EXPECT_EQ(checks[0].result, fail);
  EXPECT_EQ(sentence(checks[0]), "nothing measured");
}

TEST(Quality, WarnsOfAnswersThatWereNotChecked) {
  constexpr auto kind = QualityKind::answers;
  ReportInput input = calm_page();
  EXPECT_EQ(result(input, kind), pass);
  EXPECT_EQ(text(input, kind),
            "1 measurement compared with a reference, largest relative error 1.0e-06");
  input.results[0].header.run["check"] = "no";
  EXPECT_EQ(result(input, kind), warn);
}

TEST(Quality, FailsWhereIdenticalKernelsDiffered) {
  constexpr auto kind = QualityKind::canary;
  ReportInput input = calm_page();
  input.suites = {suite_of({}, {{"t", "h", true, "+0.1 %", "+0.1 %", "+0.1 %"}})};
  EXPECT_EQ(result(input, kind), pass);
  input.suites[0].canaries.push_back({"u", "h", false, "+3.0 %", "+0.1 %", "+0.1 %"});
  EXPECT_EQ(result(input, kind), fail);
  EXPECT_EQ(text(input, kind), "identical kernels compared at 2 calls, different at 1 call");
}

TEST(Quality, HoldsFixedWorkBesideEachRowAgainstTheBestOfItsFile) {
  constexpr auto kind = QualityKind::slowdown;
  ReportInput input = page_of({steady(), steady()});
  EXPECT_FALSE(find(input, kind));
  input.results[0].measurements[0].series["witness"] = make_series("s", {{1.00, 1.02}});
  input.results[0].measurements[1].series["witness"] = make_series("s", {{1.01, 1.05}});
  EXPECT_EQ(result(input, kind), pass);
  input.results[0].measurements[1].series["witness"] = make_series("s", {{1.01, 1.10}});
  EXPECT_EQ(result(input, kind), warn);
  EXPECT_EQ(text(input, kind),
            "2 rows with fixed work beside, slower by more than 8 % beside 1 row");
}

TEST(Quality, TellsALimitOfPowerFromHeat) {
  constexpr auto kind = QualityKind::slowdown;
  ReportInput input = calm_page();
  Measurement& row = input.results[0].measurements[0];
  row.series["throttle_reasons"] = make_series("1", {{0, 4, 4}});
  EXPECT_EQ(result(input, kind), pass);
  row.series["throttle_reasons"] = make_series("1", {{0, 4, 0x40}});
  EXPECT_EQ(result(input, kind), warn);
}

TEST(Quality, CountsCellsWhoseProcessorsWereSlowedByHeat) {
  constexpr auto kind = QualityKind::slowdown;
  ReportInput input = calm_page();
  input.suites = {suite_of({outcome("a", "ok", true), outcome("b", "ok", true)})};
  EXPECT_EQ(result(input, kind), pass);
  input.suites[0].cells[1].slowed_by_heat = 3;
  EXPECT_EQ(result(input, kind), warn);
  EXPECT_EQ(text(input, kind), "2 cells, 1 cell throttled");
}

TEST(Quality, MeasuresTheNoiseOfMedians) {
  constexpr auto kind = QualityKind::noise;
  EXPECT_EQ(result(calm_page(), kind), pass);
  EXPECT_TRUE(contains(text(calm_page(), kind), "interval of the median: 1.0 % typically"))
      << text(calm_page(), kind);
  EXPECT_EQ(result(page_of({{1.0, 1.3, 0.8, 1.2, 0.9, 1.1, 1.3, 0.7}}), kind), warn);
  EXPECT_FALSE(find(page_of({{1.0, 1.1}}), kind));
}

TEST(Quality, ComparesRepeatsOfOneVersionAlone) {
  constexpr auto kind = QualityKind::repeats;
  ReportInput input = page_of({{1.0, 1.0}, {2.0, 2.0}});
  EXPECT_FALSE(find(input, kind));
  ResultFile again = input.results[0];
  again.measurements[0].series["time"] = make_series("s", {{1.2, 1.2}});
  again.measurements[0].axes["repeat"] = "1";
  input.results.push_back(again);
  EXPECT_EQ(result(input, kind), warn);
  EXPECT_TRUE(
      contains(text(input, kind), "2 measurements made several times, whose times differ by"));
  input.results[1].header.environment.commit = "another";
  EXPECT_FALSE(find(input, kind));
}

TEST(Quality, LooksAtTheBuild) {
  constexpr auto kind = QualityKind::build;
  ReportInput input = calm_page();
  EXPECT_EQ(result(input, kind), pass);
  Environment& environment = input.results[0].header.environment;
  environment.dirty = true;
  EXPECT_EQ(result(input, kind), warn);
  environment.flags = "-O1 -fsanitize=address";
  EXPECT_EQ(result(input, kind), fail);
  EXPECT_TRUE(contains(text(input, kind), "1 file built with sanitizers"));
  environment.flags = "-g";
  EXPECT_TRUE(contains(text(input, kind), "1 file built without optimisation"));
  environment.dirty = false;
  environment.flags = "-O2";
  environment.compiler = "one";
  input.results.push_back(input.results[0]);
  Environment& other = input.results[1].header.environment;
  other.flags = "-O3";
  other.compiler = "another";
  EXPECT_EQ(result(input, kind), warn);
  EXPECT_EQ(text(input, kind), "1 commit, 2 compilers, 2 sets of compiler flags");
  input.results.pop_back();
  input.results[0].header.environment = {};
  EXPECT_EQ(result(input, kind), warn);
  EXPECT_EQ(text(input, kind), "1 file without a commit");
}

TEST(Quality, HasABadgeOfTheWorstResultAndItsReasons) {
  ReportInput input = calm_page();
  const Badge good = quality_badge(input);
  EXPECT_EQ(good.word, "Good");
  EXPECT_EQ(good.reasons, "all of 4 checks passed.");
  EXPECT_EQ(std::get<Table>(quality_section(input).blocks.at(0)).rows.size(), 4U);
  input.results[0].header.environment.dirty = true;
  const Badge usable = quality_badge(input);
  EXPECT_EQ(usable.word, "Usable");
  EXPECT_EQ(usable.reasons, "build: 1 commit, 1 file built with local changes.");
  input.results[0].measurements[0].status = Status::wrong;
  const Badge doubtful = quality_badge(input);
  EXPECT_EQ(doubtful.word, "Doubtful");
  EXPECT_EQ(doubtful.reasons, "1 of 1 measurement is wrong.");
}

/// Eight trainings on one rank that are off by this share each, of which all but one are unstable.
ReportInput judged_page(double error) {
  ReportInput input = page_of({steady()});
  input.results[0].measurements[0].status = Status::unstable;  // a part, which does not matter
  std::vector<Measurement> rows(8, samples::e2e({}, {}));
  for (std::size_t i = 1; i < rows.size(); ++i) rows[i].status = Status::unstable;
  input.results.push_back(samples::file("e2e", std::move(rows)));
  input.trained = true;
  input.validation.runs.resize(8);
  ErrorSummary summary;
  summary.ranks = 1;
  summary.median_abs = error;
  summary.median_abs_low = error / 2;
  summary.median_abs_high = error * 2;
  input.validation.summaries = {summary};
  return input;
}

TEST(Quality, SaysWhetherUnstableTrainingsMayChangeTheAnswer) {
  constexpr auto kind = QualityKind::validity;
  EXPECT_EQ(text(judged_page(0.2), kind),
            "8 trainings, 1 ok, 7 unstable, which leaves the answer as it is");
  EXPECT_EQ(result(judged_page(0.2), kind), warn);
  EXPECT_EQ(text(judged_page(0.06), kind),
            "8 trainings, 1 ok, 7 unstable, which may change the answer");
  EXPECT_EQ(result(judged_page(0.06), kind), fail);
}

TEST(Quality, NamesTheSmallestDetectableChangeOfAStudy) {
  ReportInput input = calm_page();
  input.noise = {{"noise.json", "this machine", "2026-01-01", "3.0 % or more"}};
  EXPECT_EQ(std::get<Paragraph>(quality_section(input).blocks.at(1)).text,
            "Smallest detectable change: 3.0 % or more (this machine, 2026-01-01).");
}

TEST(Quality, IsOnEveryPageBeforeTheMeasurements) {
  for (const ReportInput& input : {samples::report_input(), samples::parts_input(), calm_page()}) {
    const std::vector<Section> sections = report_sections(input);
    const auto quality = std::ranges::find(sections, "quality", &Section::id);
    ASSERT_NE(quality, sections.end());
    EXPECT_LT(quality, std::ranges::find(sections, "raw", &Section::id));
    for (const QualityCheck& check : quality_checks(input)) EXPECT_NE(sentence(check), "");
  }
}

TEST(Quality, IsALineWithABadgeAndALinkToTheChecks) {
  const Page page = report_page(calm_page());
  EXPECT_TRUE(contains(html(page),
                       "<summary>How sure? <strong class=\"good\">Good data</strong>: all of 4 "
                       "checks passed.</summary>\n<p>Good data: no check found a doubt."));
  EXPECT_TRUE(contains(html(page), " <a href=\"#quality\">Details</a></p>\n</details>"));
  EXPECT_TRUE(contains(html(page), "<div id=\"quality\">"));
  const std::string text = markdown(page).front().text;
  EXPECT_TRUE(contains(text, "How sure? **Good data**: all of 4 checks passed.\n"));
  EXPECT_TRUE(contains(text, "Usable data: weigh the doubt"));
}

TEST(EnvironmentDifferences, LeaveOutDateAndLoad) {
  ReportInput input = calm_page();
  input.results.push_back(input.results[0]);
  input.results[1].path = "other.jsonl";
  input.results[1].header.environment.date = "2030-01-01T00:00:00Z";
  input.results[1].header.environment.load = "9 9 9 1/1 1";
  EXPECT_TRUE(environment_differences(input.results).empty());
  input.results[1].header.environment.compiler = "another";
  const auto differences = environment_differences(input.results);
  ASSERT_EQ(differences.size(), 1U);
  EXPECT_EQ(differences[0].property, "compiler");
  EXPECT_EQ(differences[0].files.at("another"), (std::vector<std::string>{"other.jsonl"}));
  EXPECT_EQ(differences[0].files.at(""), (std::vector<std::string>{"gemm.jsonl"}));
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
  EXPECT_EQ(section.blocks.size(), 3U);
  EXPECT_EQ(suite_troubles(input).size(), 1U);
  EXPECT_EQ(report_sections(input).front().id, "cells");
  input.suites[0].canaries = {{"t", "h", false, "+3.0 %", "+0.1 %", "+0.1 %"}};
  const Table canaries = std::get<Folded>(suite_section(input).blocks.at(3)).table;
  EXPECT_EQ(cell(canaries, 0, "result"), "fail");
  EXPECT_EQ(cell(canaries, 0, "at the start"), "+3.0 %");
}

}  // namespace
}  // namespace dlscale::report
