#include "report/results/result_table.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/statistics.hpp"
#include "core/system/environment.hpp"
#include "core/text/numbers.hpp"
#include "core/text/quantity_text.hpp"
#include "report/results/axes.hpp"
#include "report/results/rates.hpp"
#include "report/table/field_table.hpp"
#include "report/table/run_words.hpp"

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

/// A measurement without its samples.
struct ResultRow {
  Measurement what;
  Rates rates;
  std::string machine;
};

/// "_s" and "_bytes"; a plain number has no suffix.
std::string unit_suffix(const std::string& unit) {
  if (unit == "1") return "";
  return unit == "B" ? "_bytes" : "_" + unit;
}

void append_axis_records(Fields<ResultRow>& fields, const std::vector<ResultRow>& rows) {
  using F = Field<ResultRow>;
  std::set<std::string> names;
  for (const ResultRow& row : rows) {
    for (const auto& [name, value] : row.what.axes) names.insert(name);
  }
  for (const std::string& name : names) {
    fields.push_back(F::record(name, Meaning::key, [name](const ResultRow& row) {
      const auto found = row.what.axes.find(name);
      return found == row.what.axes.end() ? "" : found->second;
    }));
  }
}

void append_series_records(Fields<ResultRow>& fields, const std::vector<ResultRow>& rows) {
  using F = Field<ResultRow>;
  std::set<std::pair<std::string, std::string>> names;
  for (const ResultRow& row : rows) {
    for (const auto& [name, series] : row.what.series) names.emplace(name, series.unit);
  }
  const std::pair<const char*, double Summary::*> figures[] = {
      {"", &Summary::median}, {"_low", &Summary::ci95_low}, {"_high", &Summary::ci95_high}};
  for (const auto& [name, unit] : names) {
    for (const auto& [suffix, figure] : figures) {
      const auto get = [name = name, unit = unit, figure = figure](const ResultRow& row) {
        const auto found = row.what.series.find(name);
        const bool there = found != row.what.series.end() && found->second.unit == unit;
        return there ? std::optional(found->second.summary.*figure) : std::nullopt;
      };
      fields.push_back(F::record(name + suffix + unit_suffix(unit), Meaning::value, get));
    }
  }
}

/// All series of a measurement with their summaries.
Json series_object(const ResultRow& row) {
  Json all = Json::object();
  for (const auto& [name, series] : row.what.series) {
    const std::string suffix = series.unit == "s" ? "_s" : series.unit == "B" ? "_bytes" : "";
    const Summary& summary = series.summary;
    all[name] = {{"samples", summary.n},
                 {"median" + suffix, number(summary.median)},
                 {"low" + suffix, number(summary.ci95_low)},
                 {"high" + suffix, number(summary.ci95_high)},
                 {"min" + suffix, number(summary.min)},
                 {"max" + suffix, number(summary.max)}};
  }
  return all;
}

std::vector<std::string> status_names() {
  std::vector<std::string> names;
  for (const Status status :
       {Status::ok, Status::unstable, Status::wrong, Status::unsupported, Status::interrupted}) {
    names.emplace_back(status_name(status));
  }
  return names;
}

/// Processor and GPUs.
std::string machine_of(const Environment& environment) {
  std::string machine = environment.cpu;
  for (const auto& [name, value] : environment.libraries) {
    if (name.starts_with("GPU")) machine += ", " + value;
  }
  return machine;
}

Fields<ResultRow> record_fields(const std::vector<ResultRow>& rows) {
  using F = Field<ResultRow>;
  using enum Meaning;
  F status("status", state, via(&ResultRow::what, &Measurement::status, status_name));
  status.states = status_names();
  const auto of_measurement = [](auto member) { return via(&ResultRow::what, member); };
  const auto rate = [](auto which) { return via(&ResultRow::rates, which); };
  Fields<ResultRow> fields{{"benchmark", key, of_measurement(&Measurement::benchmark)},
                           F::json("axes", of_measurement(&Measurement::axes))};
  append_axis_records(fields, rows);
  fields.push_back(status);
  fields.push_back({"reason", remark, of_measurement(&Measurement::reason)});
  fields.push_back(F::json("series", series_object));
  append_series_records(fields, rows);
  return joined<ResultRow>(
      {fields,
       {{"flops_per_s", value, rate(&Rates::flops)},
        {"bytes_per_s", value, rate(&Rates::bytes)},
        {"algbw_bytes_per_s", value, rate(&Rates::algbw)},
        {"busbw_bytes_per_s", value, rate(&Rates::busbw)},
        {"wirebw_bytes_per_s", value, rate(&Rates::wirebw)},
        {"max_relative_error", value, of_measurement(&Measurement::max_relative_error)},
        {"implementation", remark, of_measurement(&Measurement::implementation)},
        F::json("warnings", of_measurement(&Measurement::warnings)),
        F::record("machine", key, &ResultRow::machine)}});
}

ResultRow row_of(const Measurement& measurement, const std::string& machine) {
  ResultRow row{{}, rates(measurement), machine};
  row.what.benchmark = measurement.benchmark;
  row.what.axes = measurement.axes;
  row.what.status = measurement.status;
  row.what.reason = measurement.reason;
  for (const auto& [name, series] : measurement.series) {
    row.what.series[name] = {series.unit, {}, series.summary};
  }
  row.what.implementation = measurement.implementation;
  row.what.max_relative_error = measurement.max_relative_error;
  row.what.warnings = measurement.warnings;
  return row;
}

std::vector<ResultRow> rows_of(std::span<const ResultFile> results) {
  std::vector<ResultRow> rows;
  for (const ResultFile& file : results) {
    const std::string machine = machine_of(file.header.environment);
    for (const Measurement& each : file.measurements) rows.push_back(row_of(each, machine));
  }
  return rows;
}

}  // namespace

Document results_document(std::span<const ResultFile> results) {
  Document document;
  for (const ResultFile& file : results) document.tables.push_back(file_table(file));
  document.records = result_records(results);
  document.json = results_json(results);
  return document;
}

Table result_records(std::span<const ResultFile> results) {
  const std::vector<ResultRow> rows = rows_of(results);
  return records_of(record_fields(rows), rows);
}

JsonText results_json(std::span<const ResultFile> results, std::span<const SuiteRecord> suites) {
  return json_answer(
      "dlscale.result_summary",
      [rows = rows_of(results), all = std::vector<SuiteRecord>(suites.begin(), suites.end())] {
        Json json{{"measurements", list_of(record_fields(rows), rows)}};
        if (!all.empty()) json["cells"] = cells_json(all);
        return json;
      });
}

}  // namespace dlscale::report
