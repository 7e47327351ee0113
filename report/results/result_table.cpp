#include "report/results/result_table.hpp"

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/system/environment.hpp"
#include "report/results/rates.hpp"
#include "report/table/field_table.hpp"

namespace dlscale::report {

namespace {

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
