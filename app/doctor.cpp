// dlscale doctor: reports what this machine and build lack, and what to do about it.
#include "app/doctor/doctor.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <memory>
#include <nlohmann/json.hpp>

#include "app/cli/document_output.hpp"
#include "app/cli/verb.hpp"
#include "app/report/measured_steps.hpp"
#include "backend/host/host.hpp"
#include "bench/engine/speed_samples.hpp"
#include "core/base/error.hpp"
#include "report/table/field_table.hpp"

namespace dlscale::app {
namespace {

constexpr std::array<const char*, 4> state_names{"ok", "unavailable", "warning", "missing"};
constexpr std::array tones{report::Tone::good, report::Tone::plain, report::Tone::caution,
                           report::Tone::bad};

std::size_t index(FindingState state) {
  return static_cast<std::size_t>(state);
}

/// The verdict as a text: "machine: warning".
std::string verdict_text(const FindingGroup& group) {
  return fmt::format("{}: {}", group.name, state_names.at(index(group.verdict())));
}

report::Table table_of(const FindingGroup& group) {
  report::Table table;
  table.title = verdict_text(group);
  table.columns = {{"check", report::Align::left},
                   {"state", report::Align::left},
                   {"found", report::Align::left}};
  for (const Finding& finding : group.findings) {
    const std::size_t state = index(finding.state);
    table.rows.push_back(
        {{finding.name}, {state_names.at(state), tones.at(state)}, {finding.found}});
    if (!finding.advice.empty()) table.notes.push_back(finding.name + ": " + finding.advice);
  }
  return table;
}

report::Table records_of(const std::vector<FindingGroup>& groups) {
  report::Table records;
  report::add_columns(records.columns, report::Meaning::key, {"group", "check"});
  report::add_columns(records.columns, report::Meaning::state, {"state"});
  records.columns.back().states = {state_names.begin(), state_names.end()};
  report::add_columns(records.columns, report::Meaning::remark, {"found", "advice"});
  for (const FindingGroup& group : groups) {
    for (const Finding& each : group.findings) {
      const char* state = state_names.at(index(each.state));
      records.rows.push_back({{group.name}, {each.name}, {state}, {each.found}, {each.advice}});
    }
  }
  return records;
}

nlohmann::ordered_json json_of(const std::vector<FindingGroup>& groups,
                               const report::Table& records) {
  nlohmann::ordered_json json{{"schema", "dlscale.doctor"}, {"version", 2}};
  for (const FindingGroup& group : groups) {
    json["verdicts"][group.name] = state_names.at(index(group.verdict()));
  }
  for (const auto& row : records.rows) {
    auto& finding = json["findings"].emplace_back();
    for (std::size_t i = 0; i < row.size(); ++i) {
      finding[records.columns.at(i).heading] = row[i].text;
    }
  }
  return json;
}

struct DoctorOptions {
  bool quick = false;
  bool strict = false;
  DocumentOutput output;
};

ExitCode doctor(const DoctorOptions& options) {
  const bench::ReferenceWork witness;
  const auto cores = static_cast<int>(backend::usable_cores().size());
  // Check the machine before other checks load it.
  std::vector<FindingGroup> groups{check_machine("/", cores, [&] { return witness.time(); })};
  groups.push_back(check_software(nvidia_gpus("/")));
  groups.push_back(check_links(options.quick ? Hello::left_out : Hello::tried));
  const FindingState worst = std::ranges::max(groups, {}, &FindingGroup::verdict).verdict();
  report::Document document = findings_document(groups);
  if (worst != FindingState::missing) document.next = steps_of_sound_machine(cores);
  options.output.write(document);
  if (!options.strict || worst < FindingState::warning) return ExitCode::ok;
  return worst == FindingState::missing ? ExitCode::not_built : ExitCode::inconclusive;
}

void declare_doctor(CLI::App& verb, ExitCode& result) {
  auto options = std::make_shared<DoctorOptions>();
  verb.add_flag("--quick", options->quick, "Do not start ranks to try the launcher");
  verb.add_flag("--strict", options->strict,
                "Exit code 6 if something is missing, else 3 if there is a warning");
  options->output.declare(verb);
  verb.footer(
      "Exit code 0 whatever is found, unless --strict is given.\n"
      "Example: dlscale doctor --strict --format json -o doctor.json");
  verb.callback([options, &result] { result = doctor(*options); });
}

}  // namespace

FindingState FindingGroup::verdict() const {
  return std::ranges::max(findings, {}, &Finding::state).state;
}

report::Document findings_document(const std::vector<FindingGroup>& groups) {
  report::Document document;
  std::vector<std::string> verdicts;
  for (const FindingGroup& group : groups) {
    verdicts.push_back(verdict_text(group));
    document.tables.push_back(table_of(group));
  }
  document.lead = fmt::format("{}.", fmt::join(verdicts, ", "));
  document.records = records_of(groups);
  document.json = json_of(groups, document.records).dump(2);
  return document;
}

extern const Verb doctor_verb{"doctor", "Check software, machine and links, and say what to do",
                              declare_doctor};

}  // namespace dlscale::app
