#include "report/json/fields.hpp"
#include "report/json/json.hpp"
#include "report/rates.hpp"
#include "report/suite_record.hpp"

namespace dlscale::report {
namespace {

Json series_fields(const Series& series) {
  const std::string suffix = series.unit == "s" ? "_s" : series.unit == "B" ? "_bytes" : "";
  return {{"samples", series.summary.n},
          {"median" + suffix, number(series.summary.median)},
          {"low" + suffix, number(series.summary.ci95_low)},
          {"high" + suffix, number(series.summary.ci95_high)},
          {"min" + suffix, number(series.summary.min)},
          {"max" + suffix, number(series.summary.max)}};
}

template <class Quantity>
Json optional_quantity(const std::optional<Quantity>& value) {
  return value ? number(value->si()) : Json(nullptr);
}

Json measurement_fields(const Measurement& measurement) {
  const Rates derived = rates(measurement);
  Json json{{"benchmark", measurement.benchmark}, {"axes", measurement.axes}};
  json["status"] = status_name(measurement.status);
  json["reason"] = measurement.reason;
  json["series"] = Json::object();
  for (const auto& [name, series] : measurement.series) {
    json["series"][name] = series_fields(series);
  }
  json["flops_per_s"] = optional_quantity(derived.flops);
  json["bytes_per_s"] = optional_quantity(derived.bytes);
  json["algbw_bytes_per_s"] = optional_quantity(derived.algbw);
  json["busbw_bytes_per_s"] = optional_quantity(derived.busbw);
  json["wirebw_bytes_per_s"] = optional_quantity(derived.wirebw);
  json["max_relative_error"] = optional_number(measurement.max_relative_error);
  json["implementation"] = measurement.implementation;
  json["warnings"] = measurement.warnings;
  return json;
}

/// Of a cell that is left there is no exit code and no time.
Json cell_fields(const SuiteRecord& suite, const CellOutcome& cell) {
  const bool began = !cell.started.empty();
  return {{"suite", suite.suite},
          {"system", suite.system},
          {"cell", cell.cell},
          {"status", cell.status},
          {"reason", cell.reason},
          {"exit_code", began ? Json(cell.exit_code) : Json()},
          {"time_s", began ? number(cell.seconds) : Json()},
          {"command", cell.command}};
}

}  // namespace

std::string results_json(std::span<const ResultFile> results, std::span<const SuiteRecord> suites) {
  Json json{{"schema", "dlscale.result_summary"}, {"version", 1}};
  json["measurements"] = Json::array();
  for (const ResultFile& file : results) {
    for (const Measurement& measurement : file.measurements) {
      json["measurements"].push_back(measurement_fields(measurement));
    }
  }
  if (!suites.empty()) json["cells"] = Json::array();
  for (const SuiteRecord& suite : suites) {
    for (const CellOutcome& cell : suite.cells) json["cells"].push_back(cell_fields(suite, cell));
  }
  return dump(json);
}

}  // namespace dlscale::report
