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

/// One value for each level; empty if the row lacks the series.
std::vector<double> values(const Measurement& measurement, const std::string& series) {
  const auto found = measurement.series.find(series);
  return found == measurement.series.end() ? std::vector<double>{} : found->second.samples.front();
}

/// "46.0 KiB (44.0 KiB – 48.0 KiB)", or a note that the level continues.
std::string capacity_text(double value, double low, double high) {
  if (!(high > value)) return fmt::format("beyond {}", to_text(Bytes(value)));
  return fmt::format("{} ({} – {})", to_text(Bytes(value)), to_text(Bytes(low)),
                     to_text(Bytes(high)));
}

void append_levels(Table& table, const Measurement& row) {
  const std::vector<double> capacity = values(row, "level_capacity");
  const std::vector<double> low = values(row, "level_capacity_low");
  const std::vector<double> high = values(row, "level_capacity_high");
  const std::vector<double> latency = values(row, "level_latency");
  const std::vector<double> cycles = values(row, "level_cycles");
  for (std::size_t i = 0; i < capacity.size(); ++i) {
    table.rows.push_back({{axis_or_empty(row, "pages")},
                          {std::to_string(i + 1)},
                          {capacity_text(capacity[i], low.at(i), high.at(i))},
                          {significant(1e9 * latency.at(i), 3)},
                          {i < cycles.size() ? significant(cycles[i], 3) : ""}});
  }
}

Table levels_table(std::span<const ResultFile> results) {
  Table table;
  table.title = "Levels of the memory, by the latency of a pointer chase";
  table.columns = {{"pages", Align::left}, {"level"}, {"capacity"}, {"latency ns"}, {"cycles"}};
  for (const Measurement* row : timed_rows(results, "latency")) {
    if (axis_or_empty(*row, "operation") != "levels") continue;
    append_levels(table, *row);
    table.notes.push_back(axis_or_empty(*row, "pages") + " pages: " + row->implementation);
  }
  return table;
}

/// Bytes of a series with one value; empty if the row lacks it.
std::optional<Bytes> single(const Measurement& row, const std::string& series) {
  const std::vector<double> all = values(row, series);
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
  for (const Measurement* row : timed_rows(results, "latency")) {
    if (axis_or_empty(*row, "operation") != "page_reach") continue;
    const std::vector<double> reach = values(*row, "level_capacity");
    const std::vector<double> low = values(*row, "level_capacity_low");
    const std::vector<double> high = values(*row, "level_capacity_high");
    const std::vector<double> latency = values(*row, "level_latency");
    for (std::size_t i = 0; i < reach.size(); ++i) {
      table.rows.push_back({{axis_or_empty(*row, "pages")},
                            {std::to_string(i + 1)},
                            {capacity_text(reach[i], low.at(i), high.at(i))},
                            {significant(1e9 * latency.at(i), 3)}});
    }
    table.notes.push_back(axis_or_empty(*row, "pages") + " pages: " + row->implementation);
  }
  if (table.rows.empty()) return table;
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

/// Key of a row of intensities, and the bytes of its array.
std::pair<std::vector<std::string>, double> array_key(const Measurement& measurement) {
  return {{axis_or_empty(measurement, "dtype"), axis_or_empty(measurement, "isa"),
           axis_or_empty(measurement, "threads"), axis_or_empty(measurement, "ranks_on_node")},
          std::stod(axis_or_empty(measurement, "bytes"))};
}

Table intensities_table(std::span<const ResultFile> results) {
  std::map<std::pair<std::vector<std::string>, double>, std::map<double, std::vector<double>>>
      arrays;  // GFLOP/s
  std::set<double> intensities;
  for (const Measurement* row : timed_rows(results, "peak")) {
    const auto rate = rates(*row).flops;
    if (axis_or_empty(*row, "operation") != "intensity" || !rate) continue;
    const double intensity = std::stod(axis_or_empty(*row, "intensity"));
    arrays[array_key(*row)][intensity].push_back(1e-9 * rate->si());
    intensities.insert(intensity);
  }
  Table table;
  table.title = "Arithmetic over arrays in GFLOP/s, by operations for each byte loaded or stored";
  table.columns = {{"precision", Align::left},
                   {"instruction set", Align::left},
                   {"threads"},
                   {"ranks at once"},
                   {"array"}};
  for (const double each : intensities) table.columns.push_back({fmt::format("{}", each)});
  for (const auto& [key, rates_of_array] : arrays) {
    std::vector<Cell> cells;
    for (const std::string& each : key.first) cells.push_back({each});
    cells.push_back({to_text(Bytes(key.second))});
    for (const double each : intensities) {
      const auto found = rates_of_array.find(each);
      cells.push_back({found == rates_of_array.end() ? "" : significant(median(found->second), 4)});
    }
    table.rows.push_back(std::move(cells));
  }
  table.notes = {
      "low intensities tell the bandwidth of what holds the array, high ones arithmetic; the "
      "ceilings of rooflines are the highest of these and of the other tables"};
  return table;
}

bool passes_over_arrays(const Measurement& measurement) {
  constexpr std::array operations{"copy", "scale", "add", "triad", "sum", "fill"};
  return std::ranges::find(operations, axis_or_empty(measurement, "operation")) != operations.end();
}

/// Key of a row of bandwidths: everything except the size of the arrays.
std::vector<std::string> pass_key(const Measurement& measurement) {
  const std::string isa = axis_or_empty(measurement, "isa");
  const std::string stores = axis_or_empty(measurement, "stores");
  return {axis_or_empty(measurement, "operation"), isa.empty() ? "as compiled" : isa,
          stores.empty() ? "ordinary" : stores, axis_or_empty(measurement, "threads"),
          axis_or_empty(measurement, "ranks_on_node")};
}

Table bandwidths_table(std::span<const ResultFile> results) {
  std::map<std::vector<std::string>, std::map<double, std::vector<double>>> passes;  // GB/s
  std::set<double> sizes;
  for (const Measurement* row : timed_rows(results, "memory")) {
    const auto rate = rates(*row).bytes;
    if (!passes_over_arrays(*row) || !rate) continue;
    const double bytes = std::stod(axis_or_empty(*row, "bytes"));
    passes[pass_key(*row)][bytes].push_back(1e-9 * rate->si());
    sizes.insert(bytes);
  }
  Table table;
  table.title = "Bandwidth in GB/s, by the size of each array";
  table.columns = {{"operation", Align::left},
                   {"loop", Align::left},
                   {"stores", Align::left},
                   {"threads"},
                   {"ranks at once"}};
  for (const double bytes : sizes) table.columns.push_back({to_text(Bytes(bytes))});
  for (const auto& [key, by_size] : passes) {
    std::vector<Cell> cells;
    for (const std::string& each : key) cells.push_back({each});
    for (const double bytes : sizes) {
      const auto found = by_size.find(bytes);
      cells.push_back({found == by_size.end() ? "" : significant(median(found->second), 4)});
    }
    table.rows.push_back(std::move(cells));
  }
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
