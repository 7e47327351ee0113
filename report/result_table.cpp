#include "report/result_table.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include <fmt/format.h>

#include "core/quantity_text.hpp"
#include "core/statistics.hpp"
#include "report/json/json.hpp"
#include "report/numbers.hpp"
#include "report/rates.hpp"
#include "report/result_records.hpp"

namespace dlscale::report {
namespace {

using Measurements = std::vector<Measurement>;

/// A column that is shown if any measurement has something in it.
struct Field {
  Column column;
  std::function<std::string(const Measurement&)> text;
};

std::string axis_or_empty(const Measurement& measurement, const std::string& name) {
  const auto found = measurement.axes.find(name);
  return found == measurement.axes.end() ? "" : found->second;
}

std::map<std::string, std::set<std::string>> axis_values(const Measurements& measurements) {
  std::map<std::string, std::set<std::string>> values;
  for (const Measurement& measurement : measurements) {
    for (const auto& [name, value] : measurement.axes) values[name];
  }
  for (auto& [name, set] : values) {
    for (const Measurement& each : measurements) set.insert(axis_or_empty(each, name));
  }
  return values;
}

bool is_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789.") == std::string::npos;
}

std::string summary_text(const Measurement& measurement, const std::string& name) {
  const auto found = measurement.series.find(name);
  if (found == measurement.series.end()) return "";
  const Series& series = found->second;
  if (series.unit == "s") return to_text(Seconds(series.summary.median));
  if (series.unit == "B") return to_text(Bytes(series.summary.median));
  return significant(series.summary.median, 4);
}

std::string interval_text(const Measurement& measurement) {
  const auto* main = main_series(measurement);
  if (main == nullptr || !(main->second.summary.median > 0)) return "";
  return fmt::format("±{}", percent(relative_half_width(main->second.summary)));
}

template <class Quantity>
std::string giga(const std::optional<Quantity>& rate) {
  return rate ? significant(rate->si() * 1e-9, 4) : "";
}

std::string error_text(const Measurement& measurement) {
  const auto& error = measurement.max_relative_error;
  return error ? fmt::format("{:.1e}", *error) : "";
}

std::string status_text(const Measurement& measurement) {
  if (measurement.status == Status::ok) return "";
  const std::string word(status_name(measurement.status));
  return measurement.reason.empty() ? word : fmt::format("{}: {}", word, measurement.reason);
}

void append_axes(std::vector<Field>& fields, const Measurements& measurements) {
  for (const auto& [name, values] : axis_values(measurements)) {
    if (values.size() < 2) continue;
    const Align align = std::ranges::all_of(values, is_number) ? Align::right : Align::left;
    fields.push_back({{name, align}, [name = name](const Measurement& each) {
                        return axis_or_empty(each, name);
                      }});
  }
}

void append_series(std::vector<Field>& fields, const Measurements& measurements) {
  std::set<std::string> names;
  for (const Measurement& measurement : measurements) {
    for (const auto& [name, series] : measurement.series) names.insert(name);
  }
  for (const std::string& name : names) {
    fields.push_back(
        {{name}, [name](const Measurement& each) { return summary_text(each, name); }});
  }
}

void append_derived(std::vector<Field>& fields) {
  fields.push_back({{"95 %"}, interval_text});
  fields.push_back({{"GFLOP/s"}, [](const Measurement& m) { return giga(rates(m).flops); }});
  fields.push_back({{"GB/s"}, [](const Measurement& m) { return giga(rates(m).bytes); }});
  fields.push_back({{"algbw GB/s"}, [](const Measurement& m) { return giga(rates(m).algbw); }});
  fields.push_back({{"busbw GB/s"}, [](const Measurement& m) { return giga(rates(m).busbw); }});
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

std::string constant_axes(const Measurements& measurements) {
  std::string text;
  for (const auto& [name, values] : axis_values(measurements)) {
    if (values.size() == 1)
      text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name, *values.begin());
  }
  return text;
}

Table table_of(const ResultFile& file) {
  const std::vector<Field> fields = fields_of(file.measurements);
  Table table;
  const std::string constants = constant_axes(file.measurements);
  table.title = file.header.benchmark + (constants.empty() ? "" : ": " + constants);
  for (const Field& field : fields) table.columns.push_back(field.column);
  std::set<std::string> warnings;
  for (const Measurement& measurement : file.measurements) {
    std::vector<Cell> cells;
    const bool usable = measurement.status == Status::ok;
    for (const Field& field : fields) {
      cells.push_back({field.text(measurement), usable ? Tone::plain : Tone::caution});
    }
    table.rows.push_back(std::move(cells));
    warnings.insert(measurement.warnings.begin(), measurement.warnings.end());
  }
  for (const std::string& warning : warnings) table.notes.push_back("warning: " + warning);
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
