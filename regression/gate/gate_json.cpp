#include <fmt/format.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/base/error.hpp"
#include "core/results/json_count.hpp"
#include "core/system/input_file.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "core/text/json_problem.hpp"
#include "regression/gate/gate_report.hpp"

namespace dlscale::regression {
namespace {

using Json = nlohmann::ordered_json;
/// It finds keys in less time than the ordered one, which compares each with all others.
using ReadJson = nlohmann::json;

constexpr std::string_view schema = "dlscale.gate";
constexpr int version = 1;
constexpr const char* advice = "Name a file with the JSON of a gate.";

Json number(double value) {
  EXPECT(std::isfinite(value));
  return value;
}

Json optional_number(const std::optional<double>& value) {
  return value ? number(*value) : Json(nullptr);
}

std::string_view side_name(GateSideName side) {
  return side == GateSideName::base ? "base" : "new";
}

Json fields(const GateMetric& metric) {
  Json pairs = Json::array();
  for (const GatePair& pair : metric.pairs) {
    pairs.push_back({{"round", pair.round},
                     {"first", side_name(pair.first)},
                     {"base", number(pair.base)},
                     {"new", number(pair.changed)}});
  }
  return {{"key", metric.key},
          {"series", metric.series},
          {"unit", metric.unit},
          {"direction", direction_name(metric.direction)},
          {"statistic", run_statistic_name(metric.statistic)},
          {"base", number(metric.base)},
          {"new", number(metric.changed)},
          {"ratio", number(metric.ratio)},
          {"margin", number(metric.margin)},
          {"ratio_low", optional_number(metric.ratio_low)},
          {"ratio_high", optional_number(metric.ratio_high)},
          {"rounding", number(metric.rounding)},
          {"p", number(metric.p)},
          {"p_sequential", number(metric.p_sequential)},
          {"p_adjusted", number(metric.p_adjusted)},
          {"rounds", metric.rounds},
          {"method", gate_method_name(metric.method)},
          {"verdict", verdict_name(metric.verdict)},
          {"note", metric.note},
          {"pairs", pairs}};
}

Json fields(const std::vector<GateMetric>& metrics) {
  Json list = Json::array();
  for (const GateMetric& metric : metrics) list.push_back(fields(metric));
  return list;
}

Json fields(const GateSide& side) {
  return {{"command", side.command}, {"commit", side.commit}, {"environment", side.environment}};
}

/// The enumerator of this name. Throws ConfigError for an unknown name.
template <class Value, std::size_t n>
Value named(const ReadJson& json, const char* key, std::string_view (*name)(Value),
            const std::array<Value, n>& values) {
  const std::string text = json.at(key).get<std::string>();
  for (const Value value : values) {
    if (name(value) == text) return value;
  }
  throw ConfigError(
      fmt::format("\"{}\" is \"{}\", which is none of its values", key, escape_for_terminal(text)));
}

/// JSON can hold numbers that do not fit a double (1e999).
double finite(const ReadJson& json, const char* key) {
  const double value = json.at(key).get<double>();
  if (!std::isfinite(value)) throw ConfigError(fmt::format("\"{}\" is not a finite number", key));
  return value;
}

double positive(const ReadJson& json, const char* key) {
  const double value = finite(json, key);
  if (!(value > 0)) throw ConfigError(fmt::format("\"{}\" is {}, not above 0", key, value));
  return value;
}

std::optional<double> maybe_finite(const ReadJson& json, const char* key) {
  if (json.at(key).is_null()) return std::nullopt;
  return finite(json, key);
}

double probability(const ReadJson& json, const char* key) {
  const double value = finite(json, key);
  if (value < 0 || value > 1) {
    throw ConfigError(fmt::format("\"{}\" is {}, no probability", key, value));
  }
  return value;
}

GatePair pair_of(const ReadJson& json) {
  return {.round = json_count<int>(json.at("round"), "round"),
          .first = named(json, "first", side_name,
                         std::array{GateSideName::base, GateSideName::changed}),
          .base = positive(json, "base"),
          .changed = positive(json, "new")};
}

Verdict verdict_of(const ReadJson& json) {
  return named(json, "verdict", verdict_name,
               std::array{Verdict::regressed, Verdict::not_regressed, Verdict::improved,
                          Verdict::inconclusive});
}

GateMetric metric_of(const ReadJson& json) {
  GateMetric metric;
  metric.key = json.at("key").get<std::string>();
  metric.series = json.at("series").get<std::string>();
  metric.unit = json.at("unit").get<std::string>();
  metric.direction = named(json, "direction", direction_name,
                           std::array{Direction::smaller_is_better, Direction::larger_is_better});
  metric.statistic =
      named(json, "statistic", run_statistic_name,
            std::array{RunStatistic::minimum, RunStatistic::median, RunStatistic::single});
  metric.base = positive(json, "base");
  metric.changed = positive(json, "new");
  metric.ratio = positive(json, "ratio");
  metric.ratio_low = maybe_finite(json, "ratio_low");
  metric.ratio_high = maybe_finite(json, "ratio_high");
  if (json.contains("margin")) metric.margin = finite(json, "margin");
  if (json.contains("rounding")) metric.rounding = finite(json, "rounding");
  metric.p = probability(json, "p");
  metric.p_sequential = probability(json, "p_sequential");
  metric.p_adjusted = probability(json, "p_adjusted");
  metric.rounds = json_count<int>(json.at("rounds"), "rounds");
  metric.method = named(json, "method", gate_method_name,
                        std::array{GateMethod::signed_rank, GateMethod::sign_test});
  metric.verdict = verdict_of(json);
  metric.note = json.at("note").get<std::string>();
  for (const ReadJson& pair : json.at("pairs")) metric.pairs.push_back(pair_of(pair));
  return metric;
}

std::vector<GateMetric> metrics_of(const ReadJson& list) {
  std::vector<GateMetric> metrics;
  for (const ReadJson& json : list) metrics.push_back(metric_of(json));
  return metrics;
}

GateSide side_of(const ReadJson& json) {
  return {.command = json.at("command").get<std::vector<std::string>>(),
          .commit = json.at("commit").get<std::string>(),
          .environment = json.at("environment").get<std::map<std::string, std::string>>()};
}

GateReport report_of(const ReadJson& json) {
  if (!json.is_object() || json.value("schema", "") != schema) {
    throw ConfigError(fmt::format("it is not of the schema {}", schema));
  }
  if (const int found = json_count<int>(json.at("version"), "version"); found != version) {
    throw ConfigError(
        fmt::format("its version is {}, and this program reads version {}", found, version));
  }
  GateReport report;
  report.margin = finite(json, "margin");
  report.margin_of_noise = json.value("margin_of_noise", false);
  for (const ReadJson& look : json.at("looks")) {
    report.looks.push_back({json_count<int>(look.at("rounds"), "rounds"), probability(look, "alpha")});
  }
  report.q = probability(json, "q");
  report.seed = json_count<std::uint64_t>(json.at("seed"), "seed");
  report.rounds = json_count<int>(json.at("rounds"), "rounds");
  report.base = side_of(json.at("base"));
  report.changed = side_of(json.at("new"));
  report.machine = json.at("machine").get<std::string>();
  report.canary = named(json, "canary", gate_canary_name,
                        std::array{GateCanary::not_run, GateCanary::quiet, GateCanary::alarmed});
  report.metrics = metrics_of(json.at("metrics"));
  report.canary_metrics = metrics_of(json.at("canary_metrics"));
  for (auto* metrics : {&report.metrics, &report.canary_metrics}) {
    for (GateMetric& metric : *metrics) {
      if (metric.margin == 0) metric.margin = report.margin;  // files of earlier versions
    }
  }
  for (const ReadJson& each : json.at("missing")) {
    report.missing.push_back({.key = each.at("key").get<std::string>(),
                              .series = each.at("series").get<std::string>(),
                              .unit = each.at("unit").get<std::string>()});
  }
  report.invalid = json.at("invalid").get<bool>();
  report.unsteady = json.at("unsteady").get<bool>();
  report.set_aside = json_count<int>(json.at("set_aside"), "set_aside");
  const ReadJson& load = json.at("load");
  if (!load.is_null()) report.load = {finite(load, "least"), finite(load, "most")};
  report.notes = json.at("notes").get<std::vector<std::string>>();
  report.verdict = verdict_of(json);
  report.duration = finite(json, "duration_s");
  report.date = json.at("date").get<std::string>();
  return report;
}

}  // namespace

std::string to_json(const GateReport& report) {
  Json json{{"schema", schema}, {"version", version}};
  json["headline"] = gate_headline(report);
  json["verdict"] = verdict_name(report.verdict);
  json["margin"] = number(report.margin);
  json["margin_of_noise"] = report.margin_of_noise;
  json["looks"] = Json::array();
  for (const GateLook& look : report.looks) {
    json["looks"].push_back({{"rounds", look.rounds}, {"alpha", number(look.alpha)}});
  }
  json["q"] = number(report.q);
  json["seed"] = report.seed;
  json["rounds"] = report.rounds;
  json["date"] = report.date;
  json["duration_s"] = number(report.duration);
  json["machine"] = report.machine;
  json["base"] = fields(report.base);
  json["new"] = fields(report.changed);
  json["ratio_sign"] = "above 1 the new version is worse";
  json["metrics"] = fields(report.metrics);
  json["canary"] = gate_canary_name(report.canary);
  json["canary_metrics"] = fields(report.canary_metrics);
  json["missing"] = Json::array();
  for (const GateMissing& each : report.missing) {
    json["missing"].push_back({{"key", each.key}, {"series", each.series}, {"unit", each.unit}});
  }
  json["invalid"] = report.invalid;
  json["unsteady"] = report.unsteady;
  json["set_aside"] = report.set_aside;
  json["load"] = nullptr;
  if (report.load) {
    json["load"] = {{"least", number(report.load->first)}, {"most", number(report.load->second)}};
  }
  json["notes"] = report.notes;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

GateReport gate_report_of(std::string_view text, const std::string& name) {
  try {
    expect_json_depth(text);
    return report_of(ReadJson::parse(text));
  } catch (const ConfigError& error) {
    throw ConfigError(
        fmt::format("{} is not the result of a gate: {}. {}", name, error.what(), advice));
  } catch (const Json::exception& error) {
    throw ConfigError(fmt::format("{} is not the result of a gate: {}. {}", name,
                                  json_problem(error, text), advice));
  }
}

GateReport read_gate_report(const std::filesystem::path& path) {
  return gate_report_of(read_input(path, advice), path.string());
}

}  // namespace dlscale::regression
