#include "app/doctor_findings.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "report/numbers.hpp"
#include "report/record_columns.hpp"

namespace dlscale::app {
namespace {

report::Tone tone_of(FindingState state) {
  switch (state) {
    case FindingState::ok:
      return report::Tone::good;
    case FindingState::warning:
      return report::Tone::caution;
    case FindingState::missing:
      return report::Tone::bad;
    case FindingState::unavailable:
      return report::Tone::plain;
  }
  return report::Tone::plain;
}

std::string lead(const std::vector<FindingGroup>& groups) {
  const int warnings = count_of(groups, FindingState::warning);
  const int missing = count_of(groups, FindingState::missing);
  if (warnings == 0 && missing == 0) return "Nothing is missing, and nothing is in the way.";
  const std::string first =
      missing == 0 ? "Nothing is missing" : fmt::format("{} missing", missing);
  return fmt::format("{}, {}.", first, report::counted(warnings, "warning"));
}

report::Table table_of(const FindingGroup& group) {
  report::Table table;
  table.title = group.name;
  table.columns = {{"what", report::Align::left},
                   {"state", report::Align::left},
                   {"found", report::Align::left}};
  for (const Finding& finding : group.findings) {
    table.rows.push_back({{finding.name},
                          {std::string(state_name(finding.state)), tone_of(finding.state)},
                          {finding.found}});
    if (finding.advice.empty()) continue;
    table.notes.push_back(fmt::format("{}: {}", finding.name, finding.advice));
  }
  return table;
}

}  // namespace

std::string_view state_name(FindingState state) {
  switch (state) {
    case FindingState::ok:
      return "ok";
    case FindingState::warning:
      return "warning";
    case FindingState::missing:
      return "missing";
    case FindingState::unavailable:
      return "unavailable";
  }
  return "";
}

int count_of(const std::vector<FindingGroup>& groups, FindingState state) {
  int count = 0;
  for (const FindingGroup& group : groups) {
    for (const Finding& finding : group.findings) count += finding.state == state ? 1 : 0;
  }
  return count;
}

report::Document findings_document(const std::vector<FindingGroup>& groups) {
  report::Document document;
  document.lead = lead(groups);
  auto& columns = document.records.columns;
  report::add_columns(columns, report::Meaning::key, {"group", "what"});
  report::add_columns(columns, report::Meaning::state, {"state"});
  for (const FindingState state : {FindingState::ok, FindingState::warning, FindingState::missing,
                                   FindingState::unavailable}) {
    columns.back().states.emplace_back(state_name(state));
  }
  report::add_columns(columns, report::Meaning::remark, {"found", "advice"});
  auto list = nlohmann::ordered_json::array();
  for (const FindingGroup& group : groups) {
    document.tables.push_back(table_of(group));
    for (const Finding& finding : group.findings) {
      const std::string state(state_name(finding.state));
      document.records.rows.push_back(
          {{group.name}, {finding.name}, {state}, {finding.found}, {finding.advice}});
      list.push_back({{"group", group.name},
                      {"what", finding.name},
                      {"state", state},
                      {"found", finding.found},
                      {"advice", finding.advice}});
    }
  }
  nlohmann::ordered_json json{{"schema", "dlscale.doctor"}, {"version", 1}};
  json["warnings"] = count_of(groups, FindingState::warning);
  json["missing"] = count_of(groups, FindingState::missing);
  json["findings"] = std::move(list);
  document.json = json.dump(2);
  return document;
}

}  // namespace dlscale::app
