#include "report/result_records.hpp"

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/environment.hpp"
#include "report/numbers.hpp"
#include "report/rates.hpp"

namespace dlscale::report {
namespace {

struct Field {
  std::string key;
  std::function<std::string(const Measurement&)> text;
  Meaning meaning;
};

/// "_s" and "_bytes"; a plain number has no suffix.
std::string unit_suffix(const std::string& unit) {
  if (unit == "1") return "";
  return unit == "B" ? "_bytes" : "_" + unit;
}

template <class Visit>
void for_each_measurement(std::span<const ResultFile> results, Visit visit) {
  for (const ResultFile& file : results) {
    for (const Measurement& measurement : file.measurements) visit(measurement);
  }
}

void append_axes(std::vector<Field>& fields, std::span<const ResultFile> results) {
  std::set<std::string> names;
  for_each_measurement(results, [&names](const Measurement& measurement) {
    for (const auto& [name, value] : measurement.axes) names.insert(name);
  });
  for (const std::string& name : names) {
    fields.push_back({name,
                      [name](const Measurement& measurement) {
                        const auto found = measurement.axes.find(name);
                        return found == measurement.axes.end() ? "" : found->second;
                      },
                      Meaning::key});
  }
}

void append_summary(std::vector<Field>& fields, const std::string& name, const std::string& unit,
                    const std::string& suffix, double Summary::*value) {
  fields.push_back({name + suffix + unit_suffix(unit),
                    [=](const Measurement& measurement) {
                      const auto found = measurement.series.find(name);
                      const bool there =
                          found != measurement.series.end() && found->second.unit == unit;
                      return there ? exact(found->second.summary.*value) : std::string{};
                    },
                    Meaning::value});
}

void append_series(std::vector<Field>& fields, std::span<const ResultFile> results) {
  std::set<std::pair<std::string, std::string>> names;
  for_each_measurement(results, [&names](const Measurement& measurement) {
    for (const auto& [name, series] : measurement.series) names.emplace(name, series.unit);
  });
  for (const auto& [name, unit] : names) {
    append_summary(fields, name, unit, "", &Summary::median);
    append_summary(fields, name, unit, "_low", &Summary::ci95_low);
    append_summary(fields, name, unit, "_high", &Summary::ci95_high);
  }
}

template <class Quantity>
void append_rate(std::vector<Field>& fields, const std::string& key,
                 std::optional<Quantity> Rates::*rate) {
  fields.push_back({key,
                    [rate](const Measurement& measurement) {
                      const auto value = rates(measurement).*rate;
                      return value ? exact(value->si()) : std::string{};
                    },
                    Meaning::value});
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

std::vector<Field> fields_of(std::span<const ResultFile> results) {
  std::vector<Field> fields{
      {"benchmark", [](const Measurement& each) { return each.benchmark; }, Meaning::key}};
  append_axes(fields, results);
  fields.push_back({"status",
                    [](const Measurement& each) { return std::string(status_name(each.status)); },
                    Meaning::state});
  fields.push_back(
      {"reason", [](const Measurement& each) { return each.reason; }, Meaning::remark});
  append_series(fields, results);
  append_rate(fields, "flops_per_s", &Rates::flops);
  append_rate(fields, "bytes_per_s", &Rates::bytes);
  append_rate(fields, "algbw_bytes_per_s", &Rates::algbw);
  append_rate(fields, "busbw_bytes_per_s", &Rates::busbw);
  append_rate(fields, "wirebw_bytes_per_s", &Rates::wirebw);
  fields.push_back({"max_relative_error",
                    [](const Measurement& each) {
                      const auto& error = each.max_relative_error;
                      return error ? exact(*error) : std::string{};
                    },
                    Meaning::value});
  fields.push_back({"implementation", [](const Measurement& each) { return each.implementation; },
                    Meaning::remark});
  return fields;
}

}  // namespace

Table result_records(std::span<const ResultFile> results) {
  const std::vector<Field> fields = fields_of(results);
  Table table;
  for (const Field& field : fields) {
    table.columns.push_back({field.key, Align::right, field.meaning});
    if (field.key == "status") table.columns.back().states = status_names();
  }
  table.columns.push_back({"machine", Align::left, Meaning::key});
  for (const ResultFile& file : results) {
    const std::string machine = machine_of(file.header.environment);
    for (const Measurement& measurement : file.measurements) {
      std::vector<Cell> cells;
      cells.reserve(fields.size() + 1);
      for (const Field& field : fields) cells.push_back({field.text(measurement)});
      cells.push_back({machine});
      table.rows.push_back(std::move(cells));
    }
  }
  return table;
}

}  // namespace dlscale::report
