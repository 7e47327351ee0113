#include "report/history/history_verdicts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/text/numbers.hpp"
#include "core/text/time_text.hpp"
#include "regression/history/alert_state.hpp"
#include "report/comparison/ratio.hpp"
#include "report/history/history_table.hpp"
#include "report/table/field_table.hpp"
#include "report/table/interval.hpp"

namespace dlscale::report {
namespace {

namespace history = regression::history;
using history::Alert;
using history::AlertMetric;
using history::AlertState;
using history::CheckReport;
using history::SeriesCheck;
using history::SeriesState;
using regression::Direction;
using regression::Verdict;
using regression::verdict_name;

/// Urgency of a verdict; more is worse.
int urgency(const Alert& alert, const AlertMetric& metric) {
  if (metric.movement == Verdict::improved) return 1;
  return alert.state == AlertState::raised ? 3 : 2;
}

/// The most significant change of a series, and its alert.
struct Moved {
  const Alert* alert = nullptr;
  const AlertMetric* metric = nullptr;
};

std::map<std::string, Moved> moved_series(const CheckReport& report) {
  std::map<std::string, Moved> moved;
  for (const Alert& alert : report.alerts) {
    for (const AlertMetric& metric : alert.metrics) {
      if (metric.ending != history::Ending::open) continue;
      Moved& most = moved[metric.series];
      if (most.metric != nullptr && urgency(*most.alert, *most.metric) >= urgency(alert, metric)) {
        continue;
      }
      most = {&alert, &metric};
    }
  }
  return moved;
}

/// Verdict on a series without an alert.
std::string quiet_verdict(SeriesState state) {
  switch (state) {
    case SeriesState::needs_reruns:
    case SeriesState::unusable:
      return "inconclusive";
    case SeriesState::new_baseline:
    case SeriesState::as_before:
    case SeriesState::moved:
    case SeriesState::bimodal:
    case SeriesState::ended:
      break;
  }
  return std::string(series_state_name(state));
}

std::string movement_word(Verdict movement, AlertState state) {
  std::string word(verdict_name(movement));
  return state == AlertState::raised ? word : fmt::format("{} ({})", word, alert_state_name(state));
}

void add_word(std::string word, std::vector<std::string>& words) {
  if (std::ranges::find(words, word) == words.end()) words.push_back(std::move(word));
}

long long count_of(const CheckReport& report, SeriesState state) {
  return std::ranges::count(report.series, state, &SeriesCheck::state);
}

/// " (and 1 improvement)"; empty if there is none.
std::string improvements_text(const NewChanges& changes) {
  return changes.improvements == 0
             ? ""
             : fmt::format(" (and {})", counted(changes.improvements, "improvement"));
}

std::string regressed_sentence(const CheckReport& report, const std::string& series) {
  const FailingChange worst = largest_failing(report);
  const std::string interval = interval_text(*worst.metric);
  const NewChanges changes = new_changes(report);
  return fmt::format("{}{} in {}{} {}{} at commit {} of {}, of {}",
                     counted(changes.regressions, "regression"), improvements_text(changes), series,
                     changes.regressions == 1 ? ":" : ", the largest",
                     change_text(*worst.metric),
                     interval.empty() ? "" : fmt::format(" (95 % interval {})", interval),
                     short_commit(worst.alert->commit), day_of(*worst.alert),
                     shown_name(worst.metric->key.name()));
}

std::string quiet_sentence(const CheckReport& report, const std::string& series,
                           bool with_smallest) {
  const long long young = count_of(report, SeriesState::new_baseline);
  std::string text =
      fmt::format("No new regression{} in {}{}", improvements_text(new_changes(report)), series,
                  young > 0 ? fmt::format(", of which {} are too new to judge", young) : "");
  if (const auto seen = smallest_change(report); seen && with_smallest) {
    const std::string median = percent(seen->median);
    const std::string most = percent(seen->most);
    text += fmt::format("; a single commit shows changes of {} or more{}", median,
                        median == most ? "" : fmt::format(" ({} in the noisiest series)", most));
  }
  return text;
}

/// Whether a metric of an alert that fails is among the reasons.
bool is_failing(const AlertMetric& metric) {
  return metric.movement != Verdict::improved && !metric.key.is_detail() &&
         metric.ending == history::Ending::open;
}

}  // namespace

std::string verdict_word(const Alert& alert, const AlertMetric& metric) {
  if (metric.ending != history::Ending::open) {
    return std::string(verdict_name(metric.movement)) + " (ended)";
  }
  if (metric.key.is_detail()) return std::string(verdict_name(metric.movement)) + " (detail)";
  return movement_word(metric.movement, alert.state);
}

LevelRatio level_ratio(const AlertMetric& metric) {
  const auto launches = [](const std::vector<double>& values) {
    Repeats repeats;
    // A level with a value that has no ratio has no interval.
    if (!std::ranges::all_of(values, [](double value) { return value > 0; })) return repeats;
    for (const double value : values) repeats.push_back({value});
    return repeats;
  };
  const Repeats before = launches(metric.values_before);
  const Repeats after = launches(metric.values_after);
  if (before.empty() || after.empty()) return {metric.ratio};
  const Ratio ratio = ratio_of_medians(before, after);
  if (ratio.method.empty()) return {metric.ratio};
  const bool holds = ratio.low <= metric.ratio && metric.ratio <= ratio.high;
  return {holds ? metric.ratio : ratio.value, std::vector{ratio.low, ratio.high}};
}

std::string change_text(const AlertMetric& metric) {
  return signed_percent(level_ratio(metric).value - 1);
}

std::string interval_text(const AlertMetric& metric) {
  const LevelRatio ratio = level_ratio(metric);
  return ratio.ends ? changes_from_to(ratio.ends->front(), ratio.ends->back()) : "";
}

std::string day_of(const Alert& alert) {
  return time_text(alert.time).substr(0, std::string_view("2026-01-16").size());
}

FailingChange largest_failing(const CheckReport& report) {
  FailingChange largest;
  const auto size = [](const AlertMetric& metric) { return std::abs(std::log(metric.ratio)); };
  for (const Alert& alert : report.alerts) {
    if (!alert.fails()) continue;
    for (const AlertMetric& metric : alert.metrics) {
      if (!is_failing(metric)) continue;
      if (largest.metric == nullptr || size(metric) > size(*largest.metric)) {
        largest = {&alert, &metric};
      }
    }
  }
  return largest;
}

std::string nothing_judged(const CheckReport& report) {
  const auto is_new = [](const SeriesCheck& check) {
    return check.state == SeriesState::new_baseline;
  };
  const std::size_t count = report.series.size();
  const bool is_judged = !std::ranges::all_of(report.series, is_new);
  if (count == 0 || is_judged || !report.alerts.empty()) return "";
  return count == 1 ? "the only series has too few commits"
                    : fmt::format("all {} series have too few commits", count);
}

NewChanges new_changes(const CheckReport& report) {
  NewChanges changes;
  std::set<std::string> failing;
  for (const Alert& alert : report.alerts) {
    if (!alert.fails()) {
      const bool is_new = alert.state == AlertState::raised && !alert.has_ended();
      changes.improvements += is_new ? 1 : 0;
      continue;
    }
    ++changes.regressions;
    for (const AlertMetric& metric : alert.metrics) {
      if (is_failing(metric)) failing.insert(metric.series);
    }
  }
  changes.series = failing.size();
  return changes;
}

std::optional<SmallestChange> smallest_change(const CheckReport& report) {
  std::vector<double> changes;
  for (const SeriesCheck& check : report.series) {
    const regression::NewPoint& judged = check.judged;
    if (check.key.is_detail() || !judged.has_bounds()) continue;
    const double up = std::expm1(judged.seen);
    const double down = -std::expm1(-judged.seen);
    const Direction direction = check.key.direction;
    changes.push_back(direction == Direction::smaller_is_better  ? up
                      : direction == Direction::larger_is_better ? down
                                                                 : std::max(up, down));
  }
  if (changes.empty()) return {};
  std::ranges::sort(changes);
  return SmallestChange{changes[changes.size() / 2], changes.back()};
}

std::string commits_text(const CheckReport& report) {
  if (report.series.empty()) return "no commit";
  const auto [least, most] = std::ranges::minmax(report.series, {}, &SeriesCheck::commits);
  return (least.commits == most.commits ? "" : "up to ") +
         counted(static_cast<long long>(most.commits), "commit");
}

std::string history_answer(const CheckReport& report, bool with_smallest) {
  const std::string series =
      fmt::format("{} series over {}", report.series.size(), commits_text(report));
  switch (exit_code(report)) {
    case ExitCode::regression:
      return regressed_sentence(report, series);
    case ExitCode::inconclusive:
      return fmt::format("Not known yet: {} of {} need fresh runs",
                         count_of(report, SeriesState::needs_reruns), series);
    default:
      break;
  }
  if (const std::string none = nothing_judged(report); !none.empty()) return "Not judged: " + none;
  return quiet_sentence(report, series, with_smallest);
}

Table check_verdicts(const CheckReport& report) {
  Table table;
  add_columns(table.columns, Meaning::key, {"key", "series"});
  add_columns(table.columns, Meaning::state, {"verdict", "state"});
  add_columns(table.columns, Meaning::remark, {"commit", "before"});
  add_columns(table.columns, Meaning::value_in_unit, {"before_value", "after_value", "value"});
  const std::size_t unit = table.columns.size();
  add_columns(table.columns, Meaning::key, {"unit"});
  add_columns(table.columns, Meaning::value, {"ratio"});
  add_columns(table.columns, Meaning::remark, {"explanation"});
  for (const Verdict each : {Verdict::regressed, Verdict::improved, Verdict::shifted}) {
    for (const AlertState state : history::alert_states) {
      table.columns.at(2).states.push_back(movement_word(each, state));
    }
  }
  for (const SeriesState each : history::series_states) {
    add_word(quiet_verdict(each), table.columns.at(2).states);
    table.columns.at(3).states.emplace_back(series_state_name(each));
  }
  const std::map<std::string, Moved> moved = moved_series(report);
  for (const SeriesCheck& check : report.series) {
    if (check.key.is_detail()) continue;
    const std::string state(series_state_name(check.state));
    const auto found = moved.find(check.id);
    const std::string open = quiet_verdict(check.state);
    // An ended series has no value for the newest commit.
    const std::string value =
        check.state == SeriesState::ended ? std::string{} : exact(check.newest.value);
    if (found == moved.end()) {
      std::vector<Cell> row{{check.key.name()}, {check.id}, {open}, {state}};
      row.resize(table.columns.size());
      row.at(unit - 1).text = value;
      row.at(unit).text = check.key.unit;
      table.rows.push_back(std::move(row));
      continue;
    }
    const auto& [alert, metric] = found->second;
    const bool suspect = open == "inconclusive" && urgency(*alert, *metric) < 3;
    table.rows.push_back({{check.key.name()},
                          {check.id},
                          {suspect ? open : verdict_word(*alert, *metric)},
                          {state},
                          {alert->commit},
                          {alert->before},
                          {exact(metric->before)},
                          {exact(metric->after)},
                          {value},
                          {check.key.unit},
                          {exact(level_ratio(*metric).value)},
                          {metric->explanation}});
  }
  return table;
}

}  // namespace dlscale::report
