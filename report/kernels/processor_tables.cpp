#include "report/kernels/processor_tables.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/statistics.hpp"
#include "core/results/usable_rows.hpp"
#include "core/text/numbers.hpp"
#include "core/text/quantity_text.hpp"
#include "report/kernels/measured_cases.hpp"
#include "report/results/axes.hpp"
#include "report/results/rates.hpp"

namespace dlscale::report {

namespace {

/// Rows of a benchmark that have numbers.
Rows timed_rows(std::span<const ResultFile> results, std::string_view benchmark) {
  Rows rows;
  for (const ResultFile& file : results) {
    for (const Measurement& each : file.measurements) {
      if (each.benchmark == benchmark && is_timed(each)) rows.push_back(&each);
    }
  }
  return rows;
}

/// "46.0 KiB (44.0 KiB to 48.0 KiB)", or a note that the level continues.
std::string capacity_text(double value, double low, double high) {
  if (!(high > value)) return fmt::format("beyond {}", to_text(Bytes(value)));
  return fmt::format("{} ({} to {})", to_text(Bytes(value)), to_text(Bytes(low)),
                     to_text(Bytes(high)));
}

/// Appends the levels that sweeps of an operation found: as many cells as the table has columns.
void append_levels(std::span<const ResultFile> results, std::string_view operation, Table& table) {
  for (const Measurement* row : timed_rows(results, "latency")) {
    if (axis_or_empty(*row, "operation") != operation) continue;
    const std::string pages = axis_or_empty(*row, "pages");
    const std::vector<double> capacity = values_of(*row, "level_capacity");
    const std::vector<double> low = values_of(*row, "level_capacity_low");
    const std::vector<double> high = values_of(*row, "level_capacity_high");
    const std::vector<double> latency = values_of(*row, "level_latency");
    const std::vector<double> cycles = values_of(*row, "level_cycles");
    for (std::size_t i = 0; i < capacity.size(); ++i) {
      std::vector<Cell> cells{{pages},
                              {std::to_string(i + 1)},
                              {capacity_text(capacity[i], low.at(i), high.at(i))},
                              {significant(1e9 * latency.at(i), 3)},
                              {i < cycles.size() ? significant(cycles[i], 3) : ""}};
      cells.resize(table.columns.size());
      table.rows.push_back(std::move(cells));
    }
    table.notes.push_back(pages + " pages: " + row->implementation);
  }
}

Table levels_table(std::span<const ResultFile> results) {
  Table table;
  table.title = "Levels of the memory, by the latency of a pointer chase";
  table.columns = {{"pages", Align::left}, {"level"}, {"capacity"}, {"latency ns"}, {"cycles"}};
  append_levels(results, "levels", table);
  return table;
}

/// Bytes of a series with one value; empty if the row lacks it.
std::optional<Bytes> single(const Measurement& row, const std::string& series) {
  const std::vector<double> all = values_of(row, series);
  return all.empty() ? std::nullopt : std::optional(Bytes(all.front()));
}

Table lines_table(std::span<const ResultFile> results) {
  Table table;
  table.title = "Lines of the caches, by pairs of accesses";
  table.columns = {{"pages", Align::left}, {"line"}, {"system says"}};
  for (const Measurement* row : timed_rows(results, "latency")) {
    if (axis_or_empty(*row, "operation") != "line") continue;
    const auto line = single(*row, "line");
    const auto told = single(*row, "told_line");
    const bool differs = !line || (told && *told != *line);
    table.rows.push_back(
        {{axis_or_empty(*row, "pages")},
         {line ? to_text(*line) : "not seen", differs ? Tone::caution : Tone::plain},
         {told ? to_text(*told) : "–"}});
  }
  if (table.rows.empty()) return table;
  table.notes = {
      "the distance from which on a second access costs more; – : the system does not say"};
  return table;
}

Table reach_table(std::span<const ResultFile> results) {
  Table table;
  table.title = "How much memory is reached before page tables must be read";
  table.columns = {{"pages", Align::left}, {"level"}, {"reach"}, {"latency ns"}};
  append_levels(results, "page_reach", table);
  table.notes.emplace_back(
      "by one line of each page; latency: of the nearest cache, and what the pages add to it");
  return table;
}

Table peaks_table(std::span<const ResultFile> results) {
  Table table;
  table.title = "Arithmetic: multiply-adds in registers";
  table.columns = {{"instruction set", Align::left},
                   {"precision", Align::left},
                   {"threads"},
                   {"ranks at once"},
                   {"GFLOP/s"},
                   {"95 %"}};
  Rows rows = timed_rows(results, "peak");
  std::ranges::stable_sort(rows, {}, [](const Measurement* row) {
    return std::pair(axis_or_empty(*row, "dtype"), axis_or_empty(*row, "isa"));
  });
  for (const Measurement* row : rows) {
    const auto rate = rates(*row).flops;
    if (axis_or_empty(*row, "operation") != "fma" || !rate) continue;
    table.rows.push_back({{axis_or_empty(*row, "isa")},
                          {axis_or_empty(*row, "dtype")},
                          {axis_or_empty(*row, "threads")},
                          {axis_or_empty(*row, "ranks_on_node")},
                          {significant(1e-9 * rate->si(), 4)},
                          {interval_text(main_series(*row)->second.summary)}});
  }
  return table;
}

/// Rates in 1e9 a second by the texts of a row, the bytes of its array (0: any), and by column.
using Pivot =
    std::map<std::pair<std::vector<std::string>, double>, std::map<double, std::vector<double>>>;

/// Appends a column for each number, ascending, and the rows with the medians of their rates.
template <class Heading>
void append_medians(const Pivot& pivot, Heading heading, Table& table) {
  std::set<double> numbers;
  for (const auto& [key, by_number] : pivot) {
    for (const auto& [number, all] : by_number) numbers.insert(number);
  }
  for (const double number : numbers) table.columns.push_back({heading(number)});
  for (const auto& [key, by_number] : pivot) {
    std::vector<Cell>& cells = table.rows.emplace_back();
    for (const std::string& text : key.first) cells.push_back({text});
    if (key.second > 0) cells.push_back({to_text(Bytes(key.second))});
    for (const double number : numbers) {
      const auto found = by_number.find(number);
      cells.push_back({found == by_number.end() ? "" : significant(median(found->second), 4)});
    }
  }
}

double number_of(const Measurement& measurement, const char* axis) {
  return std::stod(axis_or_empty(measurement, axis));
}

Table intensities_table(std::span<const ResultFile> results) {
  Pivot arrays;
  for (const Measurement* row : timed_rows(results, "peak")) {
    const auto rate = rates(*row).flops;
    if (axis_or_empty(*row, "operation") != "intensity" || !rate) continue;
    const std::vector<std::string> texts{axis_or_empty(*row, "dtype"), axis_or_empty(*row, "isa"),
                                         axis_or_empty(*row, "threads"),
                                         axis_or_empty(*row, "ranks_on_node")};
    arrays[{texts, number_of(*row, "bytes")}][number_of(*row, "intensity")].push_back(1e-9 *
                                                                                      rate->si());
  }
  Table table;
  table.title = "Arithmetic over arrays in GFLOP/s, by operations for each byte loaded or stored";
  table.columns = {{"precision", Align::left},
                   {"instruction set", Align::left},
                   {"threads"},
                   {"ranks at once"},
                   {"array"}};
  append_medians(
      arrays, [](double intensity) { return fmt::format("{}", intensity); }, table);
  table.notes = {
      "low intensities tell the bandwidth of what holds the array, high ones arithmetic; the "
      "ceilings of rooflines are the highest of these and of the other tables"};
  return table;
}

bool passes_over_arrays(const Measurement& measurement) {
  constexpr std::array operations{"copy", "scale", "add", "triad", "sum", "fill"};
  return std::ranges::find(operations, axis_or_empty(measurement, "operation")) != operations.end();
}

Table bandwidths_table(std::span<const ResultFile> results) {
  Pivot passes;
  for (const Measurement* row : timed_rows(results, "memory")) {
    const auto rate = rates(*row).bytes;
    if (!passes_over_arrays(*row) || !rate) continue;
    const std::string isa = axis_or_empty(*row, "isa");
    const std::string stores = axis_or_empty(*row, "stores");
    const std::vector<std::string> texts{
        axis_or_empty(*row, "operation"), isa.empty() ? "as compiled" : isa,
        stores.empty() ? "ordinary" : stores, axis_or_empty(*row, "threads"),
        axis_or_empty(*row, "ranks_on_node")};
    passes[{texts, 0}][number_of(*row, "bytes")].push_back(1e-9 * rate->si());
  }
  Table table;
  table.title = "Bandwidth in GB/s, by the size of each array";
  table.columns = {{"operation", Align::left},
                   {"loop", Align::left},
                   {"stores", Align::left},
                   {"threads"},
                   {"ranks at once"}};
  append_medians(
      passes, [](double bytes) { return to_text(Bytes(bytes)); }, table);
  table.notes = {"of what was measured several times the median"};
  return table;
}

}  // namespace

std::vector<Table> processor_tables(std::span<const ResultFile> results) {
  std::vector<Table> tables{levels_table(results),      lines_table(results),
                            reach_table(results),       peaks_table(results),
                            intensities_table(results), bandwidths_table(results)};
  std::erase_if(tables, [](const Table& table) { return table.rows.empty(); });
  return tables;
}

}  // namespace dlscale::report
