#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/quantity_text.hpp"
#include "report/numbers.hpp"
#include "report/sections.hpp"
#include "report/suite_record.hpp"

namespace dlscale::report {
namespace {

constexpr std::size_t most_in_markdown = 300;  ///< rows of a table on a page of text

Tone tone_of(const CellOutcome& cell) {
  if (!cell.is_fine) return Tone::bad;
  if (cell.status == "ok") return Tone::good;
  return Tone::caution;
}

/// Every status that a cell can have (docs/SUITES.md).
std::vector<std::string> cell_states() {
  return {"ok",    "unstable", "throttled", "nothing measured", "unsupported",
          "wrong", "failed",   "crashed",   "timeout",          "left"};
}

/// "20 cells: 17 ok, 1 crashed, 2 left".
std::string counts_text(const SuiteRecord& suite) {
  std::map<std::string, int> counts;
  for (const CellOutcome& cell : suite.cells) ++counts[cell.status];
  std::vector<std::string> parts;
  for (const auto& [status, count] : counts) parts.push_back(fmt::format("{} {}", count, status));
  return fmt::format("{}: {}", counted(static_cast<long long>(suite.cells.size()), "cell"),
                     fmt::join(parts, ", "));
}

std::string seconds_text(const CellOutcome& cell) {
  return cell.started.empty() ? "" : to_text(Seconds(cell.seconds));
}

/// What failed and what is left, with all there is to find out why.
Table trouble_table(const SuiteRecord& suite) {
  Table table;
  table.title = fmt::format("{}: cells that have no result, and why", suite.suite);
  table.columns = {{"cell", Align::left},
                   {"status", Align::left},
                   {"reason", Align::left},
                   {"exit code"},
                   {"after"},
                   {"began", Align::left},
                   {"command", Align::left}};
  for (const CellOutcome& cell : suite.cells) {
    if (cell.is_fine && cell.status != "left") continue;
    const bool began = !cell.started.empty();
    table.rows.push_back({{cell.cell},
                          {cell.status, tone_of(cell)},
                          {cell.reason},
                          {began ? std::to_string(cell.exit_code) : ""},
                          {seconds_text(cell)},
                          {cell.started},
                          {cell.command}});
  }
  return table;
}

Table cells_table(const SuiteRecord& suite) {
  Table table;
  table.title =
      fmt::format("{}: all cells, in the order in which they were carried out", suite.suite);
  table.columns = {{"cell", Align::left},
                   {"status", Align::left},
                   {"reason", Align::left},
                   {"took"},
                   {"measurements"},
                   {"unstable"},
                   {"wrong"},
                   {"shape", Align::left},
                   {"job", Align::left},
                   {"load", Align::left},
                   {"clocks", Align::left}};
  for (const CellOutcome& cell : suite.cells) {
    table.rows.push_back({{cell.cell},
                          {cell.status, tone_of(cell)},
                          {cell.reason},
                          {seconds_text(cell)},
                          {std::to_string(cell.measurements)},
                          {std::to_string(cell.unstable)},
                          {std::to_string(cell.wrong)},
                          {cell.shape},
                          {cell.job},
                          {cell.load},
                          {cell.clocks}});
  }
  return table;
}

Table canary_table(const SuiteRecord& suite) {
  Table table;
  table.title =
      fmt::format("{}: A/A test of each call, which compares a kernel with itself", suite.suite);
  table.columns = {{"call", Align::left}, {"host", Align::left}, {"result", Align::left},
                   {"at the start"},      {"at the end"},        {"from start to end"}};
  for (const CanaryOutcome& canary : suite.canaries) {
    table.rows.push_back(
        {{canary.started},
         {canary.host},
         {canary.is_stable ? "pass" : "fail", canary.is_stable ? Tone::good : Tone::bad},
         {canary.first},
         {canary.last},
         {canary.drift}});
  }
  return table;
}

void append_folded(Section& section, Table table) {
  if (table.rows.size() > most_in_markdown) {
    section.blocks.emplace_back(RawRows{std::move(table)});
  } else {
    section.blocks.emplace_back(Folded{std::move(table)});
  }
}

}  // namespace

std::string suites_sentence(const ReportInput& input) {
  std::vector<std::string> sentences;
  for (const SuiteRecord& suite : input.suites) {
    sentences.push_back(fmt::format("{}, {}", suite.suite, counts_text(suite)));
  }
  return fmt::format("{}", fmt::join(sentences, "; "));
}

Table cell_records(const ReportInput& input) {
  Table table;
  if (input.suites.empty()) return table;
  table.columns = {{"suite", Align::left, Meaning::key},
                   {"cell", Align::left, Meaning::key},
                   {"status", Align::left, Meaning::state, cell_states()},
                   {"reason", Align::left, Meaning::remark},
                   {"time_s", Align::right, Meaning::value},
                   {"exit_code", Align::right, Meaning::remark},
                   {"system", Align::left, Meaning::key},
                   {"command", Align::left, Meaning::remark}};
  for (const SuiteRecord& suite : input.suites) {
    for (const CellOutcome& cell : suite.cells) {
      const bool began = !cell.started.empty();
      table.rows.push_back({{suite.suite},
                            {cell.cell},
                            {cell.status},
                            {cell.reason},
                            {began ? exact(cell.seconds) : ""},
                            {began ? std::to_string(cell.exit_code) : ""},
                            {suite.system},
                            {cell.command}});
    }
  }
  return table;
}

std::vector<Table> suite_troubles(const ReportInput& input) {
  std::vector<Table> tables;
  for (const SuiteRecord& suite : input.suites) {
    if (Table table = trouble_table(suite); !table.rows.empty()) tables.push_back(std::move(table));
  }
  return tables;
}

Section suite_section(const ReportInput& input) {
  Section section{"cells", "What became of each cell", {}};
  for (const SuiteRecord& suite : input.suites) {
    section.blocks.emplace_back(
        Paragraph{fmt::format("{}, {}. On {}; seed {} of their order; build {}.", suite.suite,
                              counts_text(suite), suite.system, suite.seed, suite.build)});
    if (Table trouble = trouble_table(suite); !trouble.rows.empty()) {
      section.blocks.emplace_back(std::move(trouble));
    }
    append_folded(section, cells_table(suite));
    if (!suite.canaries.empty()) append_folded(section, canary_table(suite));
  }
  return section;
}

}  // namespace dlscale::report
