#include "core/results/result_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/error.hpp"
#include "core/results/json_count.hpp"
#include "core/text/json_problem.hpp"

namespace dlscale {

// nlohmann_json finds these functions by their names.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Summary, median, mad, ci95_low, ci95_high, min, max, n)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Environment, date, host_hash, cpu, cores, affinity, kernel,
                                   governor, memory_bytes, compiler, flags, commit, dirty, load,
                                   libraries, variables)

namespace {

using nlohmann::json;

constexpr std::string_view schema = "dlscale.result";
constexpr int version = 1;

std::string to_line(const json& value) {
  // A command line or variable may hold bytes that are not UTF-8.
  return value.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

json parse_json(std::string_view line) {
  expect_json_depth(line);
  try {
    json value = json::parse(line);
    if (value.is_object()) return value;
  } catch (const json::exception&) {  // reported below
  }
  throw ConfigError("this line is not a JSON object");
}

/// Runs `read` on a line and turns its json errors into ConfigErrors.
template <class Read>
auto with_errors(std::string_view line, Read read) {
  try {
    return read();
  } catch (const json::exception& error) {
    throw ConfigError(json_problem(error, line));
  }
}

bool is_finite(const Series& series) {
  for (const auto& rank : series.samples) {
    for (const double sample : rank) {
      if (!std::isfinite(sample)) return false;
    }
  }
  return true;
}

/// Description of the numbers in the measurement that are not finite; empty if all are finite.
std::string not_finite(const Measurement& measurement) {
  for (const auto& [name, series] : measurement.series) {
    if (!is_finite(series)) return fmt::format("a sample of {} is not finite", name);
  }
  const auto& error = measurement.max_relative_error;
  if (error && !std::isfinite(*error)) return "the error against the reference is not finite";
  const auto& mean = measurement.mean_relative_error;
  if (mean && !std::isfinite(*mean)) return "the mean error against the reference is not finite";
  for (const auto& work : {measurement.work, measurement.algorithmic_work}) {
    if (work && !std::isfinite(work->flops.si() + work->bytes.si())) {
      return "the declared work is not finite";
    }
  }
  return {};
}

json to_json(const Series& series) {
  return {{"unit", series.unit}, {"samples", series.samples}, {"summary", series.summary}};
}

json environment_json(const Environment& environment) {
  json value = environment;
  if (!environment.denormals.empty()) value["denormals"] = environment.denormals;
  if (!environment.facts.empty()) value["facts"] = environment.facts;
  return value;
}

Environment parse_environment(const json& value) {
  auto environment = value.get<Environment>();
  if (value.contains("denormals")) environment.denormals = value.at("denormals");
  if (value.contains("facts")) environment.facts = value.at("facts");
  return environment;
}

json finite_or_null(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? json(*value) : json();
}

json to_json(const std::optional<Work>& work) {
  if (!work) return nullptr;
  return {{"flops", finite_or_null(work->flops.si())}, {"bytes", finite_or_null(work->bytes.si())}};
}

/// Optional fields, which files of earlier versions lack.
void add_details(const Measurement& measurement, json& line) {
  const auto add = [&line](const char* key, const std::optional<double>& value) {
    if (value && std::isfinite(*value)) line[key] = *value;
  };
  add("mean_relative_error", measurement.mean_relative_error);
  add("share_of_peak", measurement.share_of_peak);
  add("share_of_roofline", measurement.share_of_roofline);
  if (measurement.workspace) add("workspace_bytes", measurement.workspace->si());
  if (measurement.creation) add("creation_s", measurement.creation->si());
  if (measurement.algorithmic_work) {
    line["algorithmic_work"] = to_json(measurement.algorithmic_work);
  }
}

std::optional<double> number_at(const json& value, const char* key) {
  if (!value.contains(key)) return {};
  return value.at(key).get<double>();
}

std::optional<TrainedNetwork> parse_network(const json& value) {
  if (!value.contains("network")) return {};
  const json& network = value.at("network");
  return TrainedNetwork{network.at("source"), network.at("fingerprint")};
}

Status parse_status(const std::string& word) {
  constexpr std::array all{Status::ok, Status::unstable, Status::wrong, Status::unsupported,
                           Status::interrupted};
  for (const Status status : all) {
    if (status_name(status) == word) return status;
  }
  throw ConfigError(fmt::format("\"{}\" is not a status", word));
}

/// Whether a time is between the resolution of any clock and more than thirty years. Beyond,
/// products and ratios of times may not be finite.
bool is_time(double seconds) {
  const double size = std::abs(seconds);
  return size == 0 || (size >= 1e-100 && size <= 1e9);
}

Series parse_series(const json& value) {
  auto samples = value.at("samples").get<std::vector<std::vector<double>>>();
  for (const auto& rank : samples) {
    if (rank.size() != samples.front().size()) {
      throw ConfigError("the ranks have different numbers of samples");
    }
  }
  return make_series(value.at("unit"), std::move(samples));  // the summary follows from the samples
}

/// "time" is the duration of a cell; other durations may be differences, which may be negative.
void check_durations(const std::string& name, const Series& series) {
  if (series.unit != "s") return;
  for (const auto& rank : series.samples) {
    const auto none = std::ranges::find_if(
        rank, [&](double sample) { return !is_time(sample) || (sample < 0 && name == "time"); });
    if (none == rank.end()) continue;
    throw ConfigError(fmt::format("series \"{}\" has {} s, which no clock measures", name, *none));
  }
}

/// A cell and an iteration take time, at least on the slowest rank; other ranks may be idle
/// meanwhile. Rates and ratios of these times are computed.
void check_passing(const std::string& name, const Series& series) {
  if (series.unit != "s" || (name != "time" && name != "t_iter")) return;
  if (series.summary.n == 0) throw ConfigError(fmt::format("series \"{}\" has no samples", name));
  if (series.summary.min > 0) return;
  throw ConfigError(fmt::format("series \"{}\" has {} s on the slowest rank, which nothing takes",
                                name, series.summary.min));
}

std::optional<Work> parse_work(const json& value) {
  if (value.is_null() || value.at("flops").is_null() || value.at("bytes").is_null()) return {};
  return Work{Flops(value.at("flops").get<double>()), Bytes(value.at("bytes").get<double>())};
}

void parse_details(const json& value, Measurement& measurement) {
  measurement.mean_relative_error = number_at(value, "mean_relative_error");
  measurement.share_of_peak = number_at(value, "share_of_peak");
  measurement.share_of_roofline = number_at(value, "share_of_roofline");
  if (const auto bytes = number_at(value, "workspace_bytes")) measurement.workspace = Bytes(*bytes);
  if (const auto time = number_at(value, "creation_s")) measurement.creation = Seconds(*time);
  if (value.contains("algorithmic_work")) {
    measurement.algorithmic_work = parse_work(value.at("algorithmic_work"));
  }
}

void check_schema(const json& value) {
  if (!value.contains("schema") || value.at("schema") != schema) {
    throw ConfigError(
        fmt::format("this is not a result file of dlscale: no \"schema\": \"{}\"", schema));
  }
  if (value.at("version") != version) {
    throw ConfigError(fmt::format("this is version {} of the format; this program reads version {}",
                                  value.at("version").dump(), version));
  }
}

/// The axes of a row. Version 0.1.0 had other words for what a device does beside a copy.
std::map<std::string, std::string> with_current_words(const json& value) {
  auto axes = value.get<std::map<std::string, std::string>>();
  auto before = axes.extract("company");
  if (before.empty()) return axes;
  before.key() = "concurrent_with";
  if (before.mapped() == "solo") before.mapped() = "none";
  if (before.mapped() == "bidirectional") before.mapped() = "copy";
  axes.insert(std::move(before));
  return axes;
}

}  // namespace

std::string header_line(const ResultHeader& header) {
  return to_line({{"schema", schema},
                  {"version", version},
                  {"benchmark", header.benchmark},
                  {"command", header.command},
                  {"run", header.run},
                  {"environment", environment_json(header.environment)}});
}

bool begins_header(std::string_view text) {
  // The keys are written in alphabetical order.
  constexpr std::string_view opening = R"({"benchmark":")";
  constexpr std::string_view after_name = R"(","command":[)";
  const auto agree = [](std::string_view cut, std::string_view whole) {
    const std::size_t common = std::min(cut.size(), whole.size());
    return cut.substr(0, common) == whole.substr(0, common);
  };
  if (text.empty() || !agree(text, opening)) return false;
  text.remove_prefix(std::min(text.size(), opening.size()));
  const std::size_t name = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_");
  return agree(text.substr(std::min(name, text.size())), after_name);
}

Measurement refuse_not_finite(Measurement measurement) {
  const std::string problem = not_finite(measurement);
  if (measurement.status != Status::wrong && !problem.empty()) {
    measurement.status = Status::wrong;
    measurement.reason += (measurement.reason.empty() ? "" : "; ") + problem;
  }
  if (measurement.status == Status::wrong) measurement.series.clear();
  return measurement;
}

std::string measurement_line(const Measurement& original) {
  const Measurement measurement = refuse_not_finite(original);
  json series = json::object();
  for (const auto& [name, values] : measurement.series) series[name] = to_json(values);
  json line = {{"benchmark", measurement.benchmark},
               {"axes", measurement.axes},
               {"status", status_name(measurement.status)},
               {"reason", measurement.reason},
               {"series", std::move(series)},
               {"work", to_json(measurement.work)},
               {"implementation", measurement.implementation},
               {"max_relative_error", finite_or_null(measurement.max_relative_error)},
               {"warnings", measurement.warnings}};
  add_details(measurement, line);
  if (const auto& network = measurement.network) {
    line["network"] = {{"source", network->source}, {"fingerprint", network->fingerprint}};
  }
  return to_line(line);
}

std::string end_line(std::size_t measurements) {
  return to_line({{"end", {{"measurements", measurements}}}});
}

LineKind kind_of_line(std::string_view line) {
  const json value = parse_json(line);
  if (value.contains("end")) return LineKind::end;
  return value.contains("axes") ? LineKind::measurement : LineKind::header;
}

ResultHeader parse_header(std::string_view line) {
  return with_errors(line, [&] {
    const json value = parse_json(line);
    check_schema(value);
    ResultHeader header;
    header.benchmark = value.at("benchmark");
    header.command = value.at("command").get<std::vector<std::string>>();
    header.run = value.at("run").get<std::map<std::string, std::string>>();
    header.environment = parse_environment(value.at("environment"));
    return header;
  });
}

Measurement parse_measurement(std::string_view line) {
  return with_errors(line, [&] {
    const json value = parse_json(line);
    Measurement measurement;
    measurement.benchmark = value.at("benchmark");
    measurement.axes = with_current_words(value.at("axes"));
    measurement.status = parse_status(value.at("status"));
    measurement.reason = value.at("reason");
    for (const auto& [name, series] : value.at("series").items()) {
      const Series& read = measurement.series.emplace(name, parse_series(series)).first->second;
      check_durations(name, read);
      check_passing(name, read);
    }
    measurement.work = parse_work(value.at("work"));
    measurement.implementation = value.at("implementation");
    const json& error = value.at("max_relative_error");
    if (!error.is_null()) measurement.max_relative_error = error.get<double>();
    parse_details(value, measurement);
    measurement.warnings = value.at("warnings").get<std::vector<std::string>>();
    measurement.network = parse_network(value);
    return measurement;
  });
}

std::size_t parse_end(std::string_view line) {
  return with_errors(
      line, [&] { return json_count<std::size_t>(parse_json(line).at("end").at("measurements"), "measurements"); });
}

}  // namespace dlscale
