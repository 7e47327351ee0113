#include "regression/import/google_file.hpp"

#include <fmt/format.h>

#include <cctype>
#include <cmath>
#include <cstddef>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/units.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "core/text/json_problem.hpp"
#include "regression/import/imports.hpp"

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

void read_values(const json& row, GoogleRow& read) {
  for (const GoogleMetric& metric : google_metrics) {
    const auto found = row.find(metric.field);
    if (found == row.end()) continue;
    double value =
        found->is_null() ? std::numeric_limits<double>::quiet_NaN() : found->get<double>();
    if (metric.unit == std::string_view("s")) value *= seconds_of(row.value("time_unit", "ns"));
    if (!std::isfinite(value)) value = std::numeric_limits<double>::quiet_NaN();
    read.values.emplace(metric.field, value);
  }
}

GoogleRow read_row(const json& row) {
  GoogleRow read;
  const std::string type = row.value("run_type", "iteration");
  read.name = row.contains("run_name") ? row.at("run_name").get<std::string>()
                                       : row.at("name").get<std::string>();
  if (type != "iteration" && type != "aggregate") {
    throw ConfigError(fmt::format("the run type \"{}\" is not known", escape_for_terminal(type)));
  }
  if (type == "aggregate") read.aggregate = row.value("aggregate_name", "aggregate");
  if (row.value("error_occurred", false)) {
    read.outcome = GoogleRow::Outcome::failed;
    read.message = row.value("error_message", "no message");
  } else if (row.value("skipped", false)) {
    read.outcome = GoogleRow::Outcome::skipped;
  } else {
    read_values(row, read);
  }
  return read;
}

bool is_of_a_word(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_';
}

/// Length of the leading word if JSON lacks it; else 0.
std::size_t bare_number(std::string_view text) {
  for (const std::string_view word : {"NaN", "-NaN", "Infinity", "-Infinity"}) {
    if (!text.starts_with(word)) continue;
    const bool ends = text.size() == word.size() || !is_of_a_word(text[word.size()]);
    return ends ? word.size() : 0;
  }
  return 0;
}

}  // namespace

std::string impossible(const GoogleMetric& metric, double value) {
  if (std::isnan(value)) return "is not a number";
  const bool is_wall_clock = &metric == google_metrics.data();
  if (value >= max_plausible_time_s)
    return fmt::format("is {}, which nothing measured can be", value);
  if (value > 0 || (value == 0 && !is_wall_clock)) return "";
  return fmt::format("is {}, which nothing measured can be", value);
}

GoogleFile read_google_file(std::string_view text) {
  const std::string strict = strict_json(text);
  try {
    const json document = json::parse(strict);
    GoogleFile file;
    if (const auto context = document.find("context"); context != document.end()) {
      for (const auto& [name, value] : context->items()) {
        file.context[name] = name == "caches" ? sizes_of(value) : value_text(value);
      }
    }
    for (const json& row : document.at("benchmarks")) file.rows.push_back(read_row(row));
    return file;
  } catch (const json::exception& error) {
    throw ConfigError(json_problem(error, strict));
  }
}

std::string strict_json(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  bool in_string = false;
  for (std::size_t i = 0; i < text.size();) {
    const bool may_begin = !in_string && (out.empty() || !is_of_a_word(out.back()));
    const std::size_t length = may_begin ? bare_number(text.substr(i)) : 0;
    if (length > 0) {
      out += "null";
      i += length;
      continue;
    }
    const bool escapes = in_string && text[i] == '\\' && i + 1 < text.size();
    if (text[i] == '"') in_string = !in_string;
    const std::size_t taken = escapes ? 2 : 1;
    out += text.substr(i, taken);
    i += taken;
  }
  return out;
}

}  // namespace dlscale::regression::history
