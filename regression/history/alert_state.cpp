#include "regression/history/alert_state.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/base/error.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "core/text/json_problem.hpp"
#include "core/text/time_text.hpp"

namespace dlscale::regression::history {

using nlohmann::json;

std::string_view alert_state_name(AlertState state) {
  switch (state) {
    case AlertState::raised:
      return "new";
    case AlertState::acknowledged:
      return "acknowledged";
    case AlertState::expected:
      return "expected";
    case AlertState::fixed:
      return "fixed";
    case AlertState::invalid:
      return "invalid";
  }
  return "";
}

AlertState parse_alert_state(std::string_view word) {
  for (const AlertState state : alert_states) {
    if (alert_state_name(state) == word) return state;
  }
  throw ConfigError(
      fmt::format("\"{}\" is not the state of an alert. Write new, acknowledged, expected, "
                  "fixed or invalid.",
                  escape_for_terminal(word)));
}

bool may_follow(AlertState before, AlertState after) {
  if (after == AlertState::raised) return before != AlertState::raised;
  if (before == AlertState::fixed || before == AlertState::invalid) return false;
  return static_cast<int>(after) > static_cast<int>(before);
}

std::string annotation_line(const Annotation& annotation) {
  const json line{{"time", time_text(annotation.time)},
                  {"commit", annotation.commit},
                  {"state", alert_state_name(annotation.state)},
                  {"series", annotation.series},
                  {"note", annotation.note}};
  return line.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

Annotation parse_annotation(std::string_view line) {
  try {
    expect_json_depth(line);
    const json value = json::parse(line);
    Annotation annotation;
    annotation.time = parse_time(value.at("time").get<std::string>(), "\"time\"");
    annotation.commit = value.at("commit");
    annotation.state = parse_alert_state(value.at("state").get<std::string>());
    annotation.series = value.at("series").get<std::vector<std::string>>();
    annotation.note = value.at("note");
    return annotation;
  } catch (const json::exception& error) {
    throw ConfigError(json_problem(error, line));
  }
}

}  // namespace dlscale::regression::history
