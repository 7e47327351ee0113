#include "regression/rounds/round_lines.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/base/error.hpp"
#include "core/results/json_count.hpp"
#include "core/text/json_problem.hpp"

namespace dlscale::regression {
namespace {

using Json = nlohmann::ordered_json;
/// It finds keys in less time than the ordered one, which compares each with all others.
using ReadJson = nlohmann::json;

constexpr std::string_view schema = "dlscale.rounds";

template <class Value>
Json maybe(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json fields(const RunConditions& conditions) {
  Json gpus = Json::object();
  for (const auto& [key, gpu] : conditions.gpus) {
    gpus[key] = {{"slowed_by", gpu.slowed_by},
                 {"power_limited", gpu.power_limited},
                 {"clock_Hz", gpu.clock_hz}};
  }
  return {{"gpus", gpus},
          {"unsettled", conditions.unsettled},
          {"slowed_by_heat", maybe(conditions.slowed_by_heat)},
          {"load", maybe(conditions.load)}};
}

Json fields(const RunOutcome& run) {
  Json values = Json::array();
  for (const RunValue& value : run.values) {
    values.push_back({{"key", value.key},
                      {"series", value.series},
                      {"unit", value.unit},
                      {"direction", direction_name(value.direction)},
                      {"statistic", run_statistic_name(value.statistic)},
                      {"value", value.value},
                      {"samples", value.samples},
                      {"spread", value.spread},
                      {"rounding", value.rounding}});
  }
  Json files = Json::object();
  for (const auto& [name, facts] : run.files) {
    files[name] = {{"machine", facts.machine}, {"build", facts.build}};
  }
  return {{"values", values},
          {"machine", run.machine},
          {"program", run.program},
          {"files", files},
          {"conditions", fields(run.conditions)},
          {"without_times", run.without_times}};
}

template <class Value, std::size_t n>
Value named(const ReadJson& json, const char* key, std::string_view (*name)(Value),
            const std::array<Value, n>& values) {
  const std::string text = json.at(key).get<std::string>();
  for (const Value value : values) {
    if (name(value) == text) return value;
  }
  throw ConfigError(fmt::format("\"{}\" is none of its values", key));
}

RunValue parsed_value(const ReadJson& json) {
  RunValue value;
  value.key = json.at("key").get<std::string>();
  value.series = json.at("series").get<std::string>();
  value.unit = json.at("unit").get<std::string>();
  value.direction = named(json, "direction", direction_name,
                          std::array{Direction::smaller_is_better, Direction::larger_is_better});
  value.statistic =
      named(json, "statistic", run_statistic_name,
            std::array{RunStatistic::minimum, RunStatistic::median, RunStatistic::single});
  value.value = json.at("value").get<double>();
  value.samples = json_count<int>(json.at("samples"), "samples");
  value.spread = json.at("spread").get<double>();
  value.rounding = json.value("rounding", 0.0);
  if (!std::isfinite(value.value) || !(value.value > 0)) {
    throw ConfigError("\"value\" is not a finite number above 0");
  }
  if (!std::isfinite(value.rounding) || value.rounding < 0) {
    throw ConfigError("\"rounding\" is not a finite number of at least 0");
  }
  return value;
}

template <class Value>
std::optional<Value> maybe(const ReadJson& json, const char* key) {
  if (json.at(key).is_null()) return std::nullopt;
  return json.at(key).get<Value>();
}

RunConditions conditions_of(const ReadJson& json) {
  RunConditions conditions;
  for (const auto& [key, gpu] : json.at("gpus").items()) {
    conditions.gpus[key] = {.slowed_by = gpu.at("slowed_by").get<std::vector<std::string>>(),
                            .power_limited = gpu.at("power_limited").get<double>(),
                            .clock_hz = gpu.at("clock_Hz").get<double>()};
  }
  conditions.unsettled = json.at("unsettled").get<std::vector<std::string>>();
  conditions.slowed_by_heat = maybe<std::int64_t>(json, "slowed_by_heat");
  conditions.load = maybe<double>(json, "load");
  return conditions;
}

RunOutcome parsed_outcome(const ReadJson& json) {
  RunOutcome run;
  for (const ReadJson& value : json.at("values")) run.values.push_back(parsed_value(value));
  run.machine = json.at("machine").get<std::map<std::string, std::string>>();
  run.program = json.at("program").get<std::map<std::string, std::string>>();
  run.without_times = json.at("without_times").get<std::vector<std::string>>();
  run.conditions = conditions_of(json.at("conditions"));
  for (const auto& [name, facts] : json.at("files").items()) {
    run.files[name] = {.machine = facts.at("machine").get<std::map<std::string, std::string>>(),
                       .build = facts.at("build").get<std::string>()};
  }
  return run;
}

Round round_of(const ReadJson& json, int number) {
  Round round;
  round.number = json_count<int>(json.at("round"), "round");
  if (round.number != number) {
    throw ConfigError(fmt::format("round {} is where round {} should be", round.number, number));
  }
  round.order = json.at("order").get<std::vector<std::string>>();
  for (const auto& [name, run] : json.at("runs").items()) round.runs[name] = parsed_outcome(run);
  for (const std::string& name : round.order) {
    if (!round.runs.contains(name)) throw ConfigError(fmt::format("\"{}\" has no run", name));
  }
  round.seconds = json.at("seconds").get<double>();
  round.date = json.at("date").get<std::string>();
  return round;
}

/// The text of the question, which is the last key of its line.
std::string question_of(const std::string& line) {
  constexpr std::string_view key = "\"question\":";
  const ReadJson json = ReadJson::parse(line);
  if (!json.is_object() || json.value("schema", "") != schema) {
    throw ConfigError(fmt::format("it is not of the schema {}", schema));
  }
  if (json.value("version", ReadJson()) != 1) throw ConfigError("its version is not 1");
  const std::size_t begin = line.find(key) + key.size();
  const std::string text = line.substr(begin, line.rfind('}') - begin);
  if (ReadJson::parse(text, nullptr, false) == json.at("question")) return text;
  throw ConfigError("\"question\" is not the last of its keys");
}

void read_line(const std::string& line, RoundLines& lines) {
  expect_json_depth(line);
  if (!lines.question) {
    lines.question = question_of(line);
  } else {
    const int number = static_cast<int>(lines.rounds.size()) + 1;
    lines.rounds.push_back(round_of(ReadJson::parse(line), number));
  }
}

}  // namespace

RoundLines parse_round_lines(std::string_view text, const std::string& name) {
  RoundLines lines;
  int number = 1;
  for (std::size_t end = text.find('\n'); end != std::string_view::npos;
       end = text.find('\n', lines.whole_bytes), ++number) {
    const std::string line(text.substr(lines.whole_bytes, end - lines.whole_bytes));
    std::string problem;
    try {
      read_line(line, lines);
    } catch (const ConfigError& error) {
      problem = error.what();
    } catch (const Json::exception& error) {
      problem = json_problem(error, line);
    }
    if (!problem.empty()) {
      throw ConfigError(
          fmt::format("{}, line {}: {}. It is not a file of rounds, or was changed by "
                      "hand. Name another folder, or discard its rounds.",
                      name, number, problem));
    }
    lines.whole_bytes = end + 1;
  }
  return lines;
}

std::string question_line(const std::string& question) {
  return fmt::format("{{\"schema\":\"{}\",\"version\":1,\"question\":{}}}\n", schema, question);
}

std::string round_line(const Round& round) {
  Json runs = Json::object();
  for (const auto& [name, run] : round.runs) runs[name] = fields(run);
  const Json json{{"round", round.number},
                  {"date", round.date},
                  {"seconds", round.seconds},
                  {"order", round.order},
                  {"runs", runs}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace dlscale::regression
