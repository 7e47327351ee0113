#include "report/trust_section.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "report/environment_rows.hpp"
#include "report/suite_record.hpp"
#include "report/trust_rows.hpp"

namespace dlscale::report {
namespace {

constexpr std::string_view unavailable_word = "unavailable: ";  // core/facts.hpp

/// Differs from run to run without that any number means something else.
bool is_of_the_moment(const std::string& property) {
  return property == "date" || property == "load";
}

Table trust_table(const ReportInput& input) {
  Table table;
  table.title = "What to know before believing the numbers";
  table.columns = {{"what", Align::left},
                   {"verdict", Align::left},
                   {"what was seen", Align::left},
                   {"what it means", Align::left}};
  for (TrustRow row :
       {validity_row(input), answers_row(input), canary_row(input), disturbed_row(input),
        throttling_row(input), load_row(input), within_run_row(input), between_runs_row(input),
        neighbours_row(input), smallest_row(input), build_row(input), settings_row(input),
        differences_row(input), unknown_row(input), prediction_row(input)}) {
    table.rows.push_back({{std::move(row.what)},
                          {std::move(row.verdict), row.tone},
                          {std::move(row.seen)},
                          {std::move(row.means)}});
  }
  return table;
}

Table canary_table(const ReportInput& input) {
  Table table;
  table.title = "The canary of each call: a kernel beside itself, which should not differ";
  table.columns = {{"suite", Align::left},       {"call", Align::left}, {"host", Align::left},
                   {"verdict", Align::left},     {"at its beginning"},  {"at its end"},
                   {"from the one to the other"}};
  for (const SuiteRecord& suite : input.suites) {
    for (const CanaryOutcome& canary : suite.canaries) {
      table.rows.push_back(
          {{suite.suite},
           {canary.started},
           {canary.host},
           {canary.is_stable ? "quiet" : "alarmed", canary.is_stable ? Tone::good : Tone::bad},
           {canary.first},
           {canary.last},
           {canary.drift}});
    }
  }
  return table;
}

Table unread_table(const ReportInput& input) {
  Table table;
  table.title = "Facts that could not be read, and why";
  table.columns = {{"fact", Align::left}, {"why", Align::left}};
  for (const auto& [name, reasons] : unread_facts(input.results)) {
    table.rows.push_back({{name}, {fmt::format("{}", fmt::join(reasons, "; "))}});
  }
  return table;
}

}  // namespace

std::vector<EnvironmentDifference> environment_differences(std::span<const ResultFile> results) {
  std::vector<EnvironmentDifference> all;
  const std::vector<std::string> shown = shown_names(results);
  std::vector<NamedTexts> rows;
  std::vector<std::string> names;
  for (const ResultFile& file : results) {
    rows.push_back(environment_rows(file.header.environment));
    for (const auto& [name, value] : rows.back()) {
      const bool known = std::ranges::find(names, name) != names.end();
      if (!known && !is_of_the_moment(name)) names.push_back(name);
    }
  }
  for (const std::string& name : names) {
    EnvironmentDifference difference{name, {}};
    for (std::size_t i = 0; i < results.size(); ++i) {
      const auto found = std::ranges::find(rows[i], name, &NamedTexts::value_type::first);
      difference.files[found == rows[i].end() ? "" : found->second].push_back(shown[i]);
    }
    if (difference.files.size() > 1) all.push_back(std::move(difference));
  }
  return all;
}

std::map<std::string, std::vector<std::string>> unread_facts(std::span<const ResultFile> results) {
  std::map<std::string, std::set<std::string>> found;
  for (const ResultFile& file : results) {
    for (const auto& [name, value] : file.header.environment.facts) {
      if (value.starts_with(unavailable_word)) {
        found[name].insert(value.substr(unavailable_word.size()));
      }
    }
  }
  std::map<std::string, std::vector<std::string>> facts;
  for (const auto& [name, reasons] : found) facts[name] = {reasons.begin(), reasons.end()};
  return facts;
}

Section trust_section(const ReportInput& input) {
  Section section{"trust", "Can it be trusted", {trust_table(input)}};
  for (Table table : {canary_table(input), unread_table(input)}) {
    if (!table.rows.empty()) section.blocks.emplace_back(Folded{std::move(table)});
  }
  return section;
}

}  // namespace dlscale::report
