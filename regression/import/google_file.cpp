#include "regression/import/google_file.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/units.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "core/text/json_problem.hpp"
#include "regression/import/imports.hpp"
#include "regression/import/printed_json.hpp"

namespace dlscale::regression::history {
namespace {

using nlohmann::json;

double seconds_of(const std::string& unit) {
  constexpr std::array units{std::pair{"ns", 1e-9}, std::pair{"us", 1e-6}, std::pair{"ms", 1e-3},
                             std::pair{"s", 1.0}};
  for (const auto& [name, seconds] : units) {
    if (unit == name) return seconds;
  }
  throw ConfigError(fmt::format("the time unit \"{}\" is not known", escape_for_terminal(unit)));
}

std::string sizes_of(const json& caches) {
  std::string sizes;
  for (const json& cache : caches) {
    sizes += fmt::format("{}L{} {}", sizes.empty() ? "" : ", ", value_text(cache.at("level")),
                         value_text(cache.at("size")));
  }
  return sizes;
}

bool is_time(const GoogleMetric& metric) {
  return metric.unit == std::string_view("s");
}

/// Both times of a row are printed alike.
std::map<std::string, PrintedDigits, std::less<>> digits_of(std::string_view text) {
  std::map<std::string, PrintedDigits, std::less<>> digits;
  PrintedDigits times;
  for (const GoogleMetric& metric : google_metrics) {
    (is_time(metric) ? times : digits[metric.field]).add(text, metric.field);
  }
  for (const GoogleMetric& metric : google_metrics) {
    if (is_time(metric)) digits[metric.field] = times;
  }
  return digits;
}

void read_values(const json& row, GoogleRow& read) {
  for (const GoogleMetric& metric : google_metrics) {
    const auto found = row.find(metric.field);
    if (found == row.end()) continue;
    double value =
        found->is_null() ? std::numeric_limits<double>::quiet_NaN() : found->get<double>();
    if (is_time(metric)) {
      read.time_unit = seconds_of(row.value("time_unit", "ns"));
      value *= read.time_unit;
    }
    if (!std::isfinite(value)) value = std::numeric_limits<double>::quiet_NaN();
    read.values.emplace(metric.field, value);
  }
}

/// The text of a key. User counters may be called like keys that only some rows have.
std::string text_of(const json& row, const char* key, const std::string& otherwise) {
  const auto found = row.find(key);
  return found != row.end() && found->is_string() ? found->get<std::string>() : otherwise;
}

bool is_true(const json& row, const char* key) {
  const auto found = row.find(key);
  return found != row.end() && (*found == true || *found == "true");
}

GoogleRow read_row(const json& row) {
  GoogleRow read;
  if (row.is_object() && row.contains("context") && row.contains("benchmarks")) {
    throw ConfigError(
        "its benchmarks break off where another document begins, so a part of the run is missing");
  }
  if (!row.is_object() || !row.contains("name")) {
    throw ConfigError(
        "a row of its benchmarks has no name, so another program than Google Benchmark wrote it");
  }
  const std::string type = text_of(row, "run_type", "iteration");
  read.name = text_of(row, "run_name", row.at("name").get<std::string>());
  read.states_type = row.contains("run_type");
  if (const auto index = row.find("repetition_index");
      index != row.end() && index->is_number_integer()) {
    read.repetition = index->get<int>();
  }
  if (const auto count = row.find("iterations"); count != row.end() && count->is_number()) {
    read.iterations = count->get<double>();
  }
  if (type != "iteration" && type != "aggregate") {
    throw ConfigError(fmt::format("the run type \"{}\" is not known", escape_for_terminal(type)));
  }
  if (type == "aggregate") read.aggregate = text_of(row, "aggregate_name", "aggregate");
  for (const auto& [key, aggregate] : {std::pair{"big_o", "BigO"}, std::pair{"rms", "RMS"}}) {
    if (row.contains(key) && !row.contains("real_time")) read.aggregate = aggregate;
  }
  if (is_true(row, "error_occurred")) {
    read.outcome = GoogleRow::Outcome::failed;
    read.message = text_of(row, "error_message", "no message");
  } else if (is_true(row, "skipped")) {
    read.outcome = GoogleRow::Outcome::skipped;
  } else {
    read_values(row, read);
  }
  return read;
}

/// Reads each row once it is parsed and then drops its JSON, which takes ten times the memory.
class RowReader {
 public:
  explicit RowReader(std::vector<GoogleRow>& rows) : rows_(rows) {}

  /// Whether the parser keeps the value (nlohmann::json::parser_callback_t).
  bool operator()(int depth, json::parse_event_t event, const json& parsed) {
    constexpr int depth_of_keys = 1;
    constexpr int depth_of_rows = 2;
    if (depth == depth_of_keys && event == json::parse_event_t::key) {
      is_inside_ = parsed == "benchmarks";
    }
    const bool ends = event == json::parse_event_t::object_end ||
                      event == json::parse_event_t::array_end ||
                      event == json::parse_event_t::value;
    if (!is_inside_ || depth != depth_of_rows || !ends) return true;
    rows_.push_back(read_row(parsed));
    return false;
  }

 private:
  std::vector<GoogleRow>& rows_;
  bool is_inside_ = false;
};

}  // namespace

std::string impossible(const GoogleMetric& metric, double value) {
  if (std::isnan(value)) return "is not a number";
  const bool is_wall_clock = &metric == google_metrics.data();
  if (value >= max_plausible_time_s)
    return fmt::format("is {}, which nothing measured can be", value);
  if (value > 0 || (value == 0 && !is_wall_clock)) return "";
  return fmt::format("is {}, which nothing measured can be", value);
}

double GoogleFile::rounding(const GoogleRow& row, const GoogleMetric& metric) const {
  const auto value = row.values.find(metric.field);
  const auto printed = digits.find(metric.field);
  if (value == row.values.end() || printed == digits.end()) return 0;
  const double unit = is_time(metric) ? row.time_unit : 1;
  return unit * printed->second.half_unit(value->second / unit);
}

GoogleFile read_google_file(std::string_view text) {
  PrintedJson printed = printed_json(text);
  expect_json_depth(printed.text);
  try {
    GoogleFile file;
    file.notes = std::move(printed.notes);
    RowReader rows(file.rows);
    const json document = json::parse(printed.text, std::ref(rows));
    if (const auto context = document.find("context"); context != document.end()) {
      for (const auto& [name, value] : context->items()) {
        file.context[name] = name == "caches" ? sizes_of(value) : value_text(value);
      }
    }
    (void)document.at("benchmarks");
    file.digits = digits_of(printed.text);
    settle_names(file.rows);
    return file;
  } catch (const json::exception& error) {
    throw ConfigError(printed_problem(error, printed));
  }
}

}  // namespace dlscale::regression::history
