#include "report/results/result_table.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "core/base/statistics.hpp"
#include "core/text/numbers.hpp"
#include "core/text/quantity_text.hpp"
#include "report/results/axes.hpp"
#include "report/results/rates.hpp"
#include "report/results/remarks.hpp"
#include "report/results/result_records.hpp"
#include "report/table/field_table.hpp"
#include "report/table/phases.hpp"

namespace dlscale::report {
namespace {

using Measurements = std::vector<Measurement>;

constexpr std::size_t most_remarks = 8;

std::vector<Axes> all_axes(const Measurements& measurements) {
  std::vector<Axes> all;
  for (const Measurement& measurement : measurements) all.push_back(measurement.axes);
  return all;
}

/// Sorts by axes, since cells are measured in shuffled order.
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

void append_axes(Fields<Measurement>& fields, const Measurements& measurements) {
  using F = Field<Measurement>;
  for (const std::string& name : varying_axes(all_axes(measurements))) {
    const auto value = [name](const Measurement& each) { return axis_or_empty(each.axes, name); };
    const bool numbers = std::ranges::all_of(
        measurements, [&](const Measurement& each) { return is_number(value(each)); });
    fields.push_back(F::table(name, value, numbers ? Align::right : Align::left));
  }
}

/// Position of a series: the benchmark's main series first, then the phases in time order.
std::size_t place_of(const std::string& series, const Measurements& measurements) {
  for (const Measurement& measurement : measurements) {
    const auto* main = main_series(measurement);
    if (main != nullptr && main->first == series) return 0;
  }
  const auto found = std::ranges::find(iteration_phases, series, &Phase::series);
  return 1 + static_cast<std::size_t>(found - iteration_phases.begin());
}

void append_series(Fields<Measurement>& fields, const Measurements& measurements) {
  using F = Field<Measurement>;
  std::set<std::pair<std::size_t, std::string>> names;
  for (const Measurement& measurement : measurements) {
    for (const auto& [name, series] : measurement.series) {
      names.emplace(place_of(name, measurements), name);
    }
  }
  for (const auto& [place, name] : names) {
    fields.push_back(F::table(
        name, [name = name](const Measurement& each) { return summary_text(each, name); }));
    if (place == 0) fields.push_back(F::table("95 %", main_interval));
  }
}

template <class Rate>
Field<Measurement> rate_field(const char* header, std::optional<Rate> Rates::*which) {
  using F = Field<Measurement>;
  return F::table(header, [which](const Measurement& each) { return giga(rates(each).*which); });
}

/// Columns that are shown if any measurement has a value for them.
Fields<Measurement> measurement_fields(const Measurements& measurements) {
  using F = Field<Measurement>;
  Fields<Measurement> fields;
  append_axes(fields, measurements);
  append_series(fields, measurements);
  fields = joined<Measurement>(
      {fields,
       {rate_field("GFLOP/s", &Rates::flops), rate_field("GB/s", &Rates::bytes),
        rate_field("algbw GB/s", &Rates::algbw), rate_field("busbw GB/s", &Rates::busbw),
        rate_field("wirebw GB/s", &Rates::wirebw), F::table("max error", error_text),
        F::table("ran", &Measurement::implementation, as::words),
        F::table("status", status_text, Align::left)}});
  std::erase_if(fields, [&](const F& field) {
    return std::ranges::all_of(
        measurements, [&](const Measurement& each) { return field.shown(each).text.empty(); });
  });
  return fields;
}

Table file_table(const ResultFile& file) {
  const Measurements measurements = sorted(file.measurements);
  Table table = table_of(measurement_fields(measurements), measurements);
  const std::string constants = constant_axes(all_axes(measurements));
  table.title = file.header.benchmark + (constants.empty() ? "" : ": " + constants);
  for (std::size_t i = 0; i < measurements.size(); ++i) {
    if (measurements[i].status == Status::ok) continue;
    for (Cell& cell : table.rows[i]) cell.tone = Tone::caution;
  }
  table.notes = remarks(measurements, most_remarks);
  if (!file.complete) table.notes.emplace_back("the file ends early: a crash or a signal");
  if (!file.path.empty()) table.notes.push_back(file.path.string());
  return table;
}

}  // namespace

Document results_document(std::span<const ResultFile> results) {
  Document document;
  for (const ResultFile& file : results) document.tables.push_back(file_table(file));
  document.records = result_records(results);
  document.json = results_json(results);
  return document;
}

}  // namespace dlscale::report
