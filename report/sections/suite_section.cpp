#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/text/numbers.hpp"
#include "core/text/quantity_text.hpp"
#include "report/results/result_table.hpp"
#include "report/sections/sections.hpp"
#include "report/table/field_table.hpp"

namespace dlscale::report {
namespace {

Tone outcome_tone(const CellOutcome& cell) {
  if (!cell.is_fine) return Tone::bad;
  if (cell.status == "ok") return Tone::good;
  return Tone::caution;
}

/// All possible statuses of a cell (docs/reference/suites/cells.md).
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

/// A cell of a suite. Before its start it has neither a time nor an exit code.
struct SuiteCell {
  const SuiteRecord* suite;
  const CellOutcome* cell;
};

std::vector<SuiteCell> cells_of(std::span<const SuiteRecord> suites) {
  std::vector<SuiteCell> cells;
  for (const SuiteRecord& suite : suites) {
    for (const CellOutcome& cell : suite.cells) cells.push_back({&suite, &cell});
  }
  return cells;
}

auto of_cell(auto member) {
  return via(&SuiteCell::cell, member);
}

/// Fields of a cell, in the order of records.
Fields<SuiteCell> cell_fields() {
  using enum Meaning;
  const auto if_begun = [](auto member) {
    return [member](const SuiteCell& row) {
      return row.cell->started.empty() ? std::nullopt : std::optional(row.cell->*member);
    };
  };
  const auto status = [](const SuiteCell& row) {
    return Cell{row.cell->status, outcome_tone(*row.cell)};
  };
  Fields<SuiteCell> fields{
      {"suite", key, via(&SuiteCell::suite, &SuiteRecord::suite)},
      {"cell", key, of_cell(&CellOutcome::cell), "cell", as::words},
      {"status", state, of_cell(&CellOutcome::status), "status", status, Align::left},
      {"reason", remark, of_cell(&CellOutcome::reason), "reason", as::words},
      {"time_s", value, if_begun(&CellOutcome::seconds)},
      {"exit_code", remark, if_begun(&CellOutcome::exit_code), "exit code", as::exact},
      {"system", key, via(&SuiteCell::suite, &SuiteRecord::system)},
      {"command", remark, of_cell(&CellOutcome::command), "command", as::words}};
  fields.at(2).states = cell_states();
  return fields;
}

Field<SuiteCell> time_field(const char* header) {
  return Field<SuiteCell>::table(header,
                                 [](const SuiteCell& row) { return seconds_text(*row.cell); });
}

/// Failed and remaining cells, with all information for finding the cause.
Table trouble_table(const SuiteRecord& suite) {
  std::vector<SuiteCell> cells = cells_of({&suite, 1});
  std::erase_if(
      cells, [](const SuiteCell& row) { return row.cell->is_fine && row.cell->status != "left"; });
  const Fields<SuiteCell> all = cell_fields();
  Table table =
      table_of(joined<SuiteCell>(
                   {picked(all, {"cell", "status", "reason", "exit_code"}),
                    {time_field("after"),
                     Field<SuiteCell>::table("began", of_cell(&CellOutcome::started), as::words)},
                    picked(all, {"command"})}),
               cells);
  table.title = fmt::format("{}: cells that have no result, and why", suite.suite);
  return table;
}

Table cells_table(const SuiteRecord& suite) {
  using F = Field<SuiteCell>;
  Table table = table_of(
      joined<SuiteCell>({picked(cell_fields(), {"cell", "status", "reason"}),
                         {time_field("took"),
                          F::table("measurements", of_cell(&CellOutcome::measurements), as::exact),
                          F::table("unstable", of_cell(&CellOutcome::unstable), as::exact),
                          F::table("wrong", of_cell(&CellOutcome::wrong), as::exact),
                          F::table("shape", of_cell(&CellOutcome::shape), as::words),
                          F::table("job", of_cell(&CellOutcome::job), as::words),
                          F::table("load", of_cell(&CellOutcome::load), as::words),
                          F::table("clocks", of_cell(&CellOutcome::clocks), as::words)}}),
      cells_of({&suite, 1}));
  table.title =
      fmt::format("{}: all cells, in the order in which they were carried out", suite.suite);
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

}  // namespace

std::string suites_sentence(const ReportInput& input) {
  std::vector<std::string> sentences;
  for (const SuiteRecord& suite : input.suites) {
    sentences.push_back(fmt::format("{}, {}", suite.suite, counts_text(suite)));
  }
  return fmt::format("{}", fmt::join(sentences, "; "));
}

Table cell_records(const ReportInput& input) {
  return input.suites.empty() ? Table{} : records_of(cell_fields(), cells_of(input.suites));
}

Json cells_json(std::span<const SuiteRecord> suites) {
  return list_of(picked(cell_fields(), {"suite", "system", "cell", "status", "reason", "exit_code",
                                        "time_s", "command"}),
                 cells_of(suites));
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
