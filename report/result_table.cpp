#include "report/result_table.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include <fmt/format.h>

#include "core/quantity_text.hpp"
#include "core/statistics.hpp"
#include "report/axes.hpp"
#include "report/json/json.hpp"
#include "report/numbers.hpp"
#include "report/phases.hpp"
#include "report/rates.hpp"
#include "report/remarks.hpp"
#include "report/result_records.hpp"

namespace dlscale::report {
namespace {

using Measurements = std::vector<Measurement>;

constexpr std::size_t most_remarks = 8;

/// A column that is shown if any measurement has something in it.
struct Field {
  Column column;
  std::function<std::string(const Measurement&)> text;
};

std::vector<Axes> all_axes(const Measurements& measurements) {
  std::vector<Axes> all;
  for (const Measurement& measurement : measurements) all.push_back(measurement.axes);
  return all;
}

/// Cells are measured in a shuffled order; they are read in that of their axes.
Measurements sorted(Measurements measurements) {
  const std::vector<std::string> names = varying_axes(all_axes(measurements));
  std::ranges::stable_sort(measurements, [&names](const Measurement& a, const Measurement& b) {
    for (const std::string& name : names) {
      const std::string left = axis_or_empty(a.axes, name);
      const std::string right = axis_or_empty(b.axes, name);
      if (left != right) return in_order(left, right);
    }
    return false;
  });
  return measurements;
}

std::string summary_text(const Measurement& measurement, const std::string& name) {
  const auto found = measurement.series.find(name);
  if (found == measurement.series.end()) return "";
  const Series& series = found->second;
  if (series.unit == "s") return to_text(Seconds(series.summary.median));
  if (series.unit == "B") return to_text(Bytes(series.summary.median));
  return significant(series.summary.median, 4);
}

std::string main_interval(const Measurement& measurement) {
  const auto* main = main_series(measurement);
  if (main == nullptr || !(main->second.summary.median > 0)) return "";
  return interval_text(main->second.summary);
}

std::string error_text(const Measurement& measurement) {
  const auto& error = measurement.max_relative_error;
  return error ? scientific(*error) : "";
}

std::string status_text(const Measurement& measurement) {
  return measurement.status == Status::ok ? "" : std::string(status_name(measurement.status));
}

void append_axes(std::vector<Field>& fields, const Measurements& measurements) {
  for (const std::string& name : varying_axes(all_axes(measurements))) {
    const auto value = [name](const Measurement& each) { return axis_or_empty(each.axes, name); };
    const bool numbers = std::ranges::all_of(
        measurements, [&](const Measurement& each) { return is_number(value(each)); });
    fields.push_back({{name, numbers ? Align::right : Align::left}, value});
  }
}

/// The series a benchmark is about comes first, then the phases as they follow each other.
std::size_t place_of(const std::string& series, const Measurements& measurements) {
  for (const Measurement& measurement : measurements) {
    const auto* main = main_series(measurement);
    if (main != nullptr && main->first == series) return 0;
  }
  const auto found = std::ranges::find(iteration_phases, series, &Phase::series);
  return 1 + static_cast<std::size_t>(found - iteration_phases.begin());
}

void append_series(std::vector<Field>& fields, const Measurements& measurements) {
  std::set<std::pair<std::size_t, std::string>> names;
  for (const Measurement& measurement : measurements) {
    for (const auto& [name, series] : measurement.series) {
      names.emplace(place_of(name, measurements), name);
    }
  }
  for (const auto& [place, name] : names) {
    Field& field = fields.emplace_back();
    field.column.heading = name;
    field.text = [name = name](const Measurement& each) { return summary_text(each, name); };
    if (place == 0) fields.push_back({{"95 %"}, main_interval});
  }
}

void append_derived(std::vector<Field>& fields) {
  fields.push_back({{"GFLOP/s"}, [](const Measurement& m) { return giga(rates(m).flops); }});
  fields.push_back({{"GB/s"}, [](const Measurement& m) { return giga(rates(m).bytes); }});
  fields.push_back({{"algbw GB/s"}, [](const Measurement& m) { return giga(rates(m).algbw); }});
  fields.push_back({{"busbw GB/s"}, [](const Measurement& m) { return giga(rates(m).busbw); }});
  fields.push_back({{"wirebw GB/s"}, [](const Measurement& m) { return giga(rates(m).wirebw); }});
  fields.push_back({{"max error"}, error_text});
  fields.push_back(
      {{"ran", Align::left}, [](const Measurement& each) { return each.implementation; }});
  fields.push_back({{"status", Align::left}, status_text});
}

std::vector<Field> fields_of(const Measurements& measurements) {
  std::vector<Field> fields;
  append_axes(fields, measurements);
  append_series(fields, measurements);
  append_derived(fields);
  std::erase_if(fields, [&](const Field& field) {
    return std::ranges::all_of(measurements,
                               [&](const Measurement& each) { return field.text(each).empty(); });
  });
  return fields;
}

Table table_of(const ResultFile& file) {
  const Measurements measurements = sorted(file.measurements);
  const std::vector<Field> fields = fields_of(measurements);
  Table table;
  const std::string constants = constant_axes(all_axes(measurements));
  table.title = file.header.benchmark + (constants.empty() ? "" : ": " + constants);
  for (const Field& field : fields) table.columns.push_back(field.column);
  for (const Measurement& measurement : measurements) {
    const Tone tone = measurement.status == Status::ok ? Tone::plain : Tone::caution;
    std::vector<Cell> cells;
    cells.reserve(fields.size());
    for (const Field& field : fields) cells.push_back({field.text(measurement), tone});
    table.rows.push_back(std::move(cells));
  }
  table.notes = remarks(measurements, most_remarks);
  if (!file.complete) table.notes.emplace_back("the file ends early: a crash or a signal");
  if (!file.path.empty()) table.notes.push_back(file.path.string());
  return table;
}

}  // namespace

Document results_document(std::span<const ResultFile> results) {
  Document document;
  for (const ResultFile& file : results) document.tables.push_back(table_of(file));
  document.records = result_records(results);
  document.json = results_json(results);
  return document;
}

}  // namespace dlscale::report
