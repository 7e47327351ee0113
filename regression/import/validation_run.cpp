#include <fmt/format.h>

#include <cmath>
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

/// Whether a field of a validation's run describes its launch.
bool is_launch(const std::string& field) {
  return field == "ranks" || field == "ranks_per_node" || field == "cores_per_rank";
}

SeriesKey key_of_run(const json& run) {
  SeriesKey key;
  key.suite = "prediction";
  for (const auto& [field, value] : run.at("run").items()) {
    if (value.is_null()) continue;
    const std::string text = value_text(value);
    (is_launch(field) ? key.launch : key.axes)[field] = text;
  }
  key.axes["backend"] = run.at("backend");
  if (!run.at("links").is_null()) key.machine["links"] = run.at("links");
  key.metric = "predicted_over_measured";
  key.unit = "1";
  key.direction = Direction::steady;
  return key;
}

/// Ratios, not errors: they are positive, and a shift of their logarithm is one of the error.
std::vector<double> ratios_of(const json& run) {
  std::vector<double> ratios;
  for (const json& error : run.at("errors")) {
    const double ratio = 1 + error.get<double>();
    if (!std::isfinite(ratio) || ratio <= 0) {
      throw ConfigError(fmt::format("an error of {} is none of a time: it is at least -1",
                                    escape_for_terminal(error.dump())));
    }
    ratios.push_back(ratio);
  }
  if (ratios.empty()) {
    throw ConfigError(fmt::format("the run {} has no errors",
                                  escape_for_terminal(run.at("key").get<std::string>())));
  }
  return ratios;
}

json extra_values(const json& run) {
  json extras = json::object();
  for (const json& phase : run.at("phases")) {
    const std::string name = phase.at("phase");
    extras["predicted_s"][name] = phase.at("predicted_s");
    extras["measured_s"][name] = phase.at("measured_s");
  }
  return extras;
}

}  // namespace

Origin add_validation(ImportedRun& run) {
  try {
    expect_json_depth(run.content);
    const json document = json::parse(run.content);
    if (document.at("version") != 1) {
      throw ConfigError(fmt::format("version {} of validations is not known here",
                                    escape_for_terminal(document.at("version").dump())));
    }
    for (const json& one : document.at("runs")) {
      Point point;
      point.summary = summarize(ratios_of(one));
      point.extras = extra_values(one).dump();
      run.points.push_back({key_of_run(one), std::move(point)});
    }
  } catch (const json::exception& error) {
    throw ConfigError(json_problem(error, run.content));
  }
  return {};
}

}  // namespace dlscale::regression::history
