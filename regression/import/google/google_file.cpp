#include "regression/import/google/google_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
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

/// Seconds of a unit of time; nothing if the unit is not known.
std::optional<double> seconds_of(const json& unit) {
  constexpr std::array units{std::pair{"ns", 1e-9}, std::pair{"us", 1e-6}, std::pair{"ms", 1e-3},
                             std::pair{"s", 1.0}};
  for (const auto& [name, seconds] : units) {
    if (unit == name) return seconds;
  }
  return std::nullopt;
}

std::string sizes_of(const json& caches) {
  std::string sizes;
  for (const json& cache : caches) {
    sizes += fmt::format("{}L{} {}", sizes.empty() ? "" : ", ", value_text(cache.at("level")),
                         value_text(cache.at("size")));
  }
  return sizes;
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

void leave_out(GoogleRow& read, std::string why) {
  read.outcome = GoogleRow::Outcome::ambiguous;
  read.message = std::move(why);
  read.values.clear();
}

void read_values(const json& row, GoogleRow& read) {
  const json unit = row.contains("time_unit") ? row.at("time_unit") : json("ns");
  const std::optional<double> seconds = seconds_of(unit);
  for (const GoogleMetric& metric : google_metrics) {
    const auto found = row.find(metric.field);
    if (found == row.end()) continue;
    if (is_time(metric) && !seconds) {
      return leave_out(
          read, fmt::format("the time unit {} is not known", escape_for_terminal(unit.dump())));
    }
    double value =
        found->is_number() ? found->get<double>() : std::numeric_limits<double>::quiet_NaN();
    if (is_time(metric)) {
      read.time_unit = *seconds;
      value *= read.time_unit;
    }
    if (!std::isfinite(value)) value = std::numeric_limits<double>::quiet_NaN();
    read.values.emplace(metric.field, value);
  }
  if (read.values.empty() && read.aggregate.empty()) leave_out(read, "it has no times");
}

/// The text of a key. User counters may be called like keys that only some rows have.
std::string text_of(const json& row, const char* key, const std::string& otherwise) {
  const auto found = row.find(key);
  return found != row.end() && found->is_string() ? found->get<std::string>() : otherwise;
}

/// A user counter of that name is a number.
bool is_true(const json& row, const char* key) {
  const auto found = row.find(key);
  if (found == row.end()) return false;
  return *found == true || (found->is_string() && *found != "false" && *found != "");
}

constexpr std::string_view nameless = "a row without a name";

GoogleRow read_row(const json& row) {
  GoogleRow read;
  if (row.is_object() && row.contains("context") && row.contains("benchmarks")) {
    throw ConfigError(
        "its benchmarks break off where another document begins, so a part of the run is missing");
  }
  if (!row.is_object() || !row.contains("name") || !row.at("name").is_string()) {
    read.name = nameless;
    leave_out(read, "another program than Google Benchmark may have written it");
    return read;
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
    leave_out(read, fmt::format("the run type \"{}\" is not known", escape_for_terminal(type)));
    return read;
  }
  if (type == "aggregate") {
    read.aggregate = text_of(row, "aggregate_name", "aggregate");
    // Version 1.4 names the aggregate, and not the benchmark without it.
    const std::string suffix = "_" + read.aggregate;
    const bool is_whole_name = !row.contains("run_name") && read.name.ends_with(suffix);
    if (is_whole_name) read.name.erase(read.name.size() - suffix.size());
  }
  for (const auto& [key, aggregate] : {std::pair{"big_o", "BigO"}, std::pair{"rms", "RMS"}}) {
    if (row.contains(key) && !row.contains("real_time")) read.aggregate = aggregate;
  }
  if (is_true(row, "error_occurred")) {
    read.outcome = GoogleRow::Outcome::failed;
    read.message = text_of(row, "error_message", "no message");
  } else if (is_true(row, "skipped")) {
    read.outcome = GoogleRow::Outcome::skipped;
    read.message = text_of(row, "skip_message", "");
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

bool is_time(const GoogleMetric& metric) {
  return metric.unit == std::string_view("s");
}

std::string in_brackets(const std::string& message) {
  return message.empty() ? "" : fmt::format(" ({})", escape_for_terminal(message));
}

std::string impossible(const GoogleMetric& metric, double value) {
  if (std::isnan(value)) return "is not a number";
  const bool is_wall_clock = &metric == google_metrics.data();
  if (value >= max_plausible_time_s)
    return fmt::format("is {}, which nothing measured can be", value);
  if (value > 0 || (value == 0 && !is_wall_clock)) return "";
  return fmt::format("is {}, which nothing measured can be", value);
}

std::string google_program(const Facts& context) {
  const auto found = context.find("executable");
  if (found == context.end()) return "";
  return found->second.substr(found->second.find_last_of("/\\") + 1);  // npos + 1 is 0
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
    const bool has_names =
        std::ranges::any_of(file.rows, [](const GoogleRow& row) { return row.name != nameless; });
    if (!file.rows.empty() && !has_names) {
      throw ConfigError(
          "no row of its benchmarks has a name, so another program than Google Benchmark wrote it");
    }
    file.digits = digits_of(printed.text);
    settle_names(file.rows);
    return file;
  } catch (const json::exception& error) {
    throw ConfigError(printed_problem(error, printed));
  }
}

}  // namespace dlscale::regression::history
