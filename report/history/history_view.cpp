#include "report/history/history_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/statistics.hpp"
#include "regression/history/run.hpp"
#include "regression/import/result_run.hpp"
#include "report/history/history_strips.hpp"
#include "report/history/history_table.hpp"
#include "report/history/history_verdicts.hpp"

namespace dlscale::report {
namespace {

namespace history = regression::history;
using history::SeriesCheck;
using history::SeriesKey;

/// Attaches the state of each reported series from the history, or the environment's difference
/// from the latest series of the same question.
void compare(std::vector<ReportedValue>& reported, const history::CheckReport& report) {
  std::map<std::string, const SeriesCheck*> by_id;
  std::map<std::string, const SeriesCheck*> latest;  // by question
  for (const SeriesCheck& check : report.series) {
    by_id[check.id] = &check;
    const SeriesCheck*& last = latest[check.key.question()];
    if (last == nullptr || check.newest.time > last->newest.time) last = &check;
  }
  for (ReportedValue& value : reported) {
    if (const auto found = by_id.find(value.series); found != by_id.end()) {
      value.kept = *found->second;
    } else if (const auto other = latest.find(value.key.question()); other != latest.end()) {
      value.differs = history::differences(other->second->key.environment, value.key.environment);
    }
  }
}

/// The latest improvement that nobody has explained; nullptr if there is none.
const history::Alert* new_improvement(const history::CheckReport& report) {
  const auto found = std::ranges::find_if(report.alerts, [](const history::Alert& alert) {
    return alert.state == history::AlertState::raised && !alert.fails() && !alert.has_ended();
  });
  return found == report.alerts.end() ? nullptr : &*found;
}

}  // namespace

std::vector<ReportedValue> reported_values(std::span<const ResultFile> results) {
  struct Found {
    ReportedValue value;
    std::vector<double> medians;
  };
  std::map<std::pair<std::string, std::string>, Found> all;  // by name and id
  for (const ResultFile& file : results) {
    history::ImportedRun run;
    history::add_points(run, file);
    for (const history::KeyedPoint& each : run.points) {
      const std::string id = each.key.id();
      Found& found = all[{each.key.name(), id}];
      found.value.series = id;
      found.value.key = each.key;
      found.value.commit = history::measured_commit(file.header.environment);
      found.medians.push_back(each.point.summary.median);
    }
  }
  std::vector<ReportedValue> values;
  values.reserve(all.size());
  for (auto& [name, found] : all) {
    found.value.value = median(found.medians);
    values.push_back(std::move(found.value));
  }
  return values;
}

std::vector<NextStep> steps_of_check(const history::CheckReport& report,
                                     const HistoryCommands& commands) {
  std::vector<NextStep> steps;
  if (const history::Alert* worst = largest_failing(report).alert; worst != nullptr) {
    const std::string commit = short_commit(worst->commit);
    steps.push_back(
        {fmt::format("Find the commit of the change at {}:", commit), commands.bisect(commit)});
    steps.push_back(
        {"Then say what it was, and the check passes:", commands.annotate(commit, "acknowledged"),
         {"WHY"}});
  } else if (const history::Alert* better = new_improvement(report); better != nullptr) {
    const std::string commit = short_commit(better->commit);
    steps.push_back(
        {fmt::format("Say why {} is faster, and later commits are judged by it:", commit),
         commands.annotate(commit, "expected"),
         {"WHY"}});
  }
  for (const history::Rerun& rerun : report.reruns) {
    if (steps.size() == 3) break;
    steps.push_back({fmt::format("Measure commit {} again and add it:", short_commit(rerun.commit)),
                     commands.add + " RESULTS",
                     {"RESULTS"}});
  }
  if (exit_code(report) != ExitCode::ok) return steps;
  steps.push_back({"Add the results of the next commit, and check again:",
                   fmt::format("{} RESULTS && {}", commands.add, commands.check),
                   {"RESULTS"}});
  return steps;
}

HistoryView look_at_history(history::Store& store, HistoryCommands commands,
                            const std::function<bool(const SeriesKey&)>& wanted,
                            const history::CheckRules& rules, std::vector<ReportedValue> reported) {
  HistoryView view{std::move(commands), {}, {}, std::move(reported)};
  std::set<std::string> questions;
  for (const ReportedValue& value : view.reported) questions.insert(value.key.question());
  bool any_wanted = false;
  bool any_reported = false;
  const auto is_shown = [&](const SeriesKey& key) {
    if (!wanted(key)) return false;
    any_wanted = true;
    const bool shown = questions.empty() || questions.contains(key.question());
    any_reported = any_reported || shown;
    return shown;
  };
  try {
    view.report = history::check(store, is_shown, rules);
  } catch (const Error& error) {
    // A history of other series is not an error; it does not cover these results.
    const bool of_others = any_wanted && !any_reported;
    if (error.code() != ExitCode::nothing_measured || !of_others) throw;
    view.report.store = store.name();
    return view;
  }
  view.strips = history::make_strips(store, view.report, rules, figure::most_strips);
  compare(view.reported, view.report);
  return view;
}

}  // namespace dlscale::report
