#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/results/usable_rows.hpp"
#include "core/text/numbers.hpp"
#include "core/text/quantity_text.hpp"
#include "report/kernels/measured_cases.hpp"
#include "report/kernels/processor_tables.hpp"
#include "report/results/axes.hpp"

namespace dlscale::report {
namespace {

/// Pointer chases over growing working sets by condition, in the order of the results.
std::map<Axes, Rows> level_rows(std::span<const ResultFile> results) {
  std::map<Axes, Rows> rows;
  for (const ResultFile& file : results) {
    for (const Measurement& each : file.measurements) {
      if (each.benchmark != "latency" || axis_or_empty(each, "operation") != "levels" ||
          !is_timed(each)) {
        continue;
      }
      Axes condition = each.axes;
      condition.erase("repeat");
      rows[condition].push_back(&each);
    }
  }
  return rows;
}

/// The least and the greatest value of a level over all runs that have it.
struct Range {
  double least = 0;
  double greatest = 0;
  [[nodiscard]] double apart() const { return greatest / least - 1; }
};

/// Empty if a run has fewer levels.
std::optional<Range> range_of(const Rows& runs, const std::string& series, std::size_t level) {
  std::vector<double> values;
  for (const Measurement* run : runs) {
    const auto found = run->series.find(series);
    if (found == run->series.end() || found->second.samples.front().size() <= level) return {};
    values.push_back(found->second.samples.front()[level]);
  }
  const auto [least, greatest] = std::ranges::minmax(values);
  return Range{least, greatest};
}

/// The reported size of the cache nearest to both ends, if it is within a factor of 2.
std::optional<double> told_size(const Measurement& run, const Range& capacity) {
  const auto told = run.series.find("told_capacity");
  if (told == run.series.end()) return std::nullopt;
  std::optional<double> nearest;
  double doublings = 1;
  for (const double size : told->second.samples.front()) {
    const double distance = std::max(std::abs(std::log2(capacity.least / size)),
                                     std::abs(std::log2(capacity.greatest / size)));
    if (distance > doublings) continue;
    nearest = size;
    doublings = distance;
  }
  return nearest;
}

/// Relative distance of the farthest run from the reported size.
double farthest(const Range& capacity, double told) {
  return std::max(std::abs(capacity.least / told - 1), std::abs(capacity.greatest / told - 1));
}

/// Appends a level and returns true, if all runs have it.
bool append_level(Table& table, const Rows& runs, std::size_t level) {
  const auto capacity = range_of(runs, "level_capacity", level);
  const auto latency = range_of(runs, "level_latency", level);
  if (!capacity || !latency) return false;
  const auto told = told_size(*runs.front(), *capacity);
  table.rows.push_back({{axis_or_empty(*runs.front(), "pages")},
                        {std::to_string(runs.size())},
                        {std::to_string(level + 1)},
                        {fmt::format("{} – {}", to_text(Bytes(capacity->least)),
                                     to_text(Bytes(capacity->greatest)))},
                        {told ? to_text(Bytes(*told)) : "–"},
                        {told ? percent(farthest(*capacity, *told)) : "–"},
                        {fmt::format("{} – {}", significant(1e9 * latency->least, 3),
                                     significant(1e9 * latency->greatest, 3))},
                        {percent(latency->apart())}});
  return true;
}

}  // namespace

Table repeated_levels(std::span<const ResultFile> results) {
  Table table;
  table.title = "Levels of the memory, measured several times";
  table.columns = {{"pages", Align::left},
                   {"runs"},
                   {"level"},
                   {"capacity"},
                   {"system says"},
                   {"farthest from that"},
                   {"latency ns"},
                   {"greatest over least"}};
  for (const auto& [condition, runs] : level_rows(results)) {
    if (runs.size() < 2) continue;
    for (std::size_t level = 0; append_level(table, runs, level);) ++level;
  }
  if (table.rows.empty()) return table;
  table.notes = {
      "levels that all runs have; the system says: of the cache of that size, if one is within a "
      "factor of 2"};
  return table;
}

}  // namespace dlscale::report
