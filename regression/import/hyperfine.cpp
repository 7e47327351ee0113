#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/statistics.hpp"
#include "core/base/units.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "core/text/json_problem.hpp"
#include "core/text/numbers.hpp"
#include "regression/import/imports.hpp"
#include "regression/import/printed_json.hpp"

namespace dlscale::regression::history {
namespace {

using nlohmann::json;

bool any_failed(const json& result) {
  const auto codes = result.find("exit_codes");
  if (codes == result.end() || !codes->is_array()) return false;
  for (const json& code : *codes) {
    if (code != 0) return true;
  }
  return false;
}

/// Parameters by name. One that is called as the command itself is gets another name.
Facts axes_of(const json& result, const std::string& command) {
  Facts axes{{"command", command}};
  if (!result.contains("parameters") || !result.at("parameters").is_object()) return axes;
  for (const auto& [name, value] : result.at("parameters").items()) {
    axes[name == "command" ? "parameter command" : name] = value_text(value);
  }
  return axes;
}

double number_of(const json& value) {
  return value.is_number() ? value.get<double>() : std::numeric_limits<double>::quiet_NaN();
}

/// NaN for what is not a number; empty if there are none.
std::vector<double> times_of(const json& result) {
  std::vector<double> times;
  const auto found = result.find("times");
  if (found == result.end() || !found->is_array()) return times;
  for (const json& time : *found) times.push_back(number_of(time));
  return times;
}

bool has_number(const json& result, const char* key) {
  return result.contains(key) && result.at(key).is_number();
}

bool is_possible(double seconds) {
  return seconds > 0 && seconds < max_plausible_time_s;
}

std::string impossible_text(double seconds) {
  if (std::isnan(seconds)) return "has a time that is not a number";
  return fmt::format("has a time of {:g} s, which no run takes", seconds);
}

/// `there`: the axes of the results so far.
void add_result(ImportedRun& run, std::set<Facts>& there, const json& result) {
  if (!result.is_object() || !result.contains("command")) {
    run.notes.push_back("left out: a result without a command");
    return;
  }
  const std::string command = value_text(result.at("command"));
  const auto leave_out = [&](std::string_view why) {
    run.notes.push_back(fmt::format("left out: {} {}", escape_for_terminal(command), why));
  };
  if (any_failed(result)) return leave_out("failed");
  std::vector<double> times = times_of(result);
  const bool has_median_alone = times.empty() && has_number(result, "median");
  if (has_median_alone) times = {result.at("median").get<double>()};
  if (times.empty() && has_number(result, "mean")) {
    return leave_out("has a mean, and neither single times nor a median, which histories compare");
  }
  if (times.empty()) return leave_out("has no times");
  const std::size_t all = times.size();
  const auto impossible = std::ranges::find_if_not(times, is_possible);
  const std::string fault = impossible == times.end() ? "" : impossible_text(*impossible);
  std::erase_if(times, [](double seconds) { return !is_possible(seconds); });
  if (!fault.empty()) {
    leave_out(fmt::format("{}; {} of {} count", fault,
                          counted(static_cast<long long>(times.size()), "time"), all));
  }
  if (times.empty()) return;
  KeyedPoint point;
  point.key.suite = "hyperfine";
  point.key.axes = axes_of(result, command);
  point.key.metric = "time";
  point.key.unit = "s";
  point.key.direction = Direction::smaller_is_better;
  point.point.summary = summarize(times);
  if (!there.insert(point.key.axes).second) {
    return leave_out("is there twice with the same parameters, and its first times count");
  }
  if (has_median_alone) {
    run.notes.push_back(fmt::format("the median of {} counts, since it has no single times",
                                    escape_for_terminal(command)));
  }
  run.points.push_back(std::move(point));
}

}  // namespace

Origin add_hyperfine(ImportedRun& run) {
  const PrintedJson printed = printed_json(run.content);
  expect_json_depth(printed.text);
  run.notes = printed.notes;
  try {
    const json document = json::parse(printed.text);
    std::set<Facts> there;
    for (const json& result : document.at("results")) add_result(run, there, result);
  } catch (const json::exception& error) {
    throw ConfigError(printed_problem(error, printed));
  }
  return {};
}

}  // namespace dlscale::regression::history
