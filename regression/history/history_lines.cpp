#include "regression/history/history_lines.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <nlohmann/json.hpp>

#include "core/results/json_count.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "core/text/json_problem.hpp"
#include "core/text/time_text.hpp"

namespace dlscale::regression::history {

using nlohmann::json;

namespace {

constexpr std::string_view series_schema = "dlscale.series";

}  // namespace

std::string format_text() {
  return json{{"schema", history_schema}, {"version", history_version}}.dump() + "\n";
}

bool is_known_format(std::string_view text) {
  try {
    expect_json_depth(text);
    const json value = json::parse(text);
    return value.at("schema") == history_schema && value.at("version") == history_version;
  } catch (const json::exception&) {
    return false;
  } catch (const ConfigError&) {
    return false;
  }
}

std::string series_head(const SeriesKey& key) {
  return fmt::format("{{\"schema\":\"{}\",\"version\":{},\"key\":{}}}\n", series_schema,
                     history_version, key.text());
}

std::string record_line(const RunRecord& record) {
  json line{{"run", record.run},       {"commit", record.commit}, {"time", time_text(record.time)},
            {"format", record.format}, {"file", record.file},     {"points", record.points},
            {"facts", record.facts}};
  if (record.ancestors > 0) line["ancestors"] = record.ancestors;
  if (record.sha256 != record.run) line["sha256"] = record.sha256;
  return line.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

RunRecord parse_record(std::string_view line) {
  try {
    expect_json_depth(line);
    const json value = json::parse(line);
    RunRecord record;
    record.run = value.at("run");
    record.sha256 = value.value("sha256", record.run);
    record.commit = value.at("commit");
    record.time = parse_time(value.at("time").get<std::string>(), "\"time\"");
    record.format = value.at("format");
    record.file = value.at("file");
    record.points = json_count<std::size_t>(value.at("points"), "points");
    record.facts = value.at("facts").get<Facts>();
    if (value.contains("ancestors")) {
      record.ancestors = json_count<std::uint64_t>(value.at("ancestors"), "ancestors");
    }
    return record;
  } catch (const json::exception& error) {
    throw ConfigError(json_problem(error, line));
  }
}

SeriesKey parse_head(std::string_view line) {
  try {
    expect_json_depth(line);
    const json head = json::parse(line);
    if (head.value("schema", "") != series_schema) {
      throw ConfigError(fmt::format("the schema of the first line is {}, not \"{}\"",
                                    escape_for_terminal(head.value("schema", "")), series_schema));
    }
    if (head.at("version") != history_version) {
      throw ConfigError(fmt::format("version {} of series is not known here",
                                    escape_for_terminal(head.at("version").dump())));
    }
    return parse_series_key(head.at("key").dump());
  } catch (const json::exception& error) {
    throw ConfigError(json_problem(error, line));
  }
}

Point parse_point_of(Values values, std::string_view line) {
  Point point = parse_point(line);
  const double median = point.summary.median;
  const bool is_possible = values == Values::any || median > 0 ||
                           (values == Values::from_0 && median == 0);  // NaN was refused
  if (is_possible) return point;
  throw ConfigError(fmt::format("\"median\" is {}, which nothing measured of this series can be",
                                point.summary.median));
}

bool is_head(std::size_t number, std::string_view line) {
  return number == 1 || line.starts_with("{\"schema\":");
}

void expect_key(std::string_view line, const SeriesKey& key) {
  const std::string id = parse_head(line).id();
  if (id == key.id()) return;
  throw ConfigError(fmt::format("it begins the series {}, and the file is of {}", id, key.id()));
}

std::string series_file(const SeriesKey& key) {
  return fmt::format("series/{}.jsonl", key.file_stem());
}

std::string kept_file(const std::string& hash) {
  return fmt::format("files/{}/{}", hash.substr(0, 2), hash);
}

}  // namespace dlscale::regression::history
