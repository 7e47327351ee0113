#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/statistics.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "core/text/json_problem.hpp"
#include "regression/import/imports.hpp"

namespace dlscale::regression::history {
namespace {

using nlohmann::json;

bool any_failed(const json& result) {
  if (!result.contains("exit_codes")) return false;
  for (const json& code : result.at("exit_codes")) {
    if (code != 0) return true;
  }
  return false;
}

void add_result(ImportedRun& run, const json& result) {
  const std::string command = result.at("command");
  if (any_failed(result)) {
    run.notes.push_back(fmt::format("left out: {} failed", escape_for_terminal(command)));
    return;
  }
  const auto times = result.at("times").get<std::vector<double>>();
  if (times.empty()) {
    throw ConfigError(fmt::format("the command {} has no times", escape_for_terminal(command)));
  }
  const auto wrong = std::ranges::find_if(times, [](double seconds) { return !(seconds > 0); });
  if (wrong != times.end()) {
    throw ConfigError(fmt::format("the command {} has a time of {:g} s, which no run takes",
                                  escape_for_terminal(command), *wrong));
  }
  KeyedPoint point;
  point.key.suite = "hyperfine";
  point.key.axes["command"] = command;
  if (result.contains("parameters")) {
    for (const auto& [name, value] : result.at("parameters").items()) {
      point.key.axes[name] = value_text(value);
    }
  }
  point.key.metric = "time";
  point.key.unit = "s";
  point.key.direction = Direction::smaller_is_better;
  point.point.summary = summarize(times);
  run.points.push_back(std::move(point));
}

}  // namespace

Origin add_hyperfine(ImportedRun& run) {
  try {
    const json document = json::parse(run.content);
    for (const json& result : document.at("results")) add_result(run, result);
  } catch (const json::exception& error) {
    throw ConfigError(json_problem(error, run.content));
  }
  return {};
}

}  // namespace dlscale::regression::history
