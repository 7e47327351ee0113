#include "report/history/history_verdicts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/text/numbers.hpp"
#include "regression/history/alert_state.hpp"
#include "report/comparison/ratio.hpp"
#include "report/table/field_table.hpp"

namespace dlscale::report {
namespace {

namespace history = regression::history;
using history::Alert;
using history::AlertMetric;
using history::AlertState;
using history::CheckReport;
using history::SeriesCheck;
using history::SeriesState;
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

}  // namespace

std::string verdict_word(const Alert& alert, const AlertMetric& metric) {
  if (metric.ending != history::Ending::open) {
    return std::string(verdict_name(metric.movement)) + " (ended)";
  }
  if (metric.key.is_detail()) return std::string(verdict_name(metric.movement)) + " (detail)";
  return movement_word(metric.movement, alert.state);
}

std::optional<std::vector<double>> change_interval(const AlertMetric& metric) {
  const auto launches = [](const std::vector<double>& values) {
    Repeats repeats;
    // A level with a value that has no ratio has no interval.
    if (!std::ranges::all_of(values, [](double value) { return value > 0; })) return repeats;
    for (const double value : values) repeats.push_back({value});
    return repeats;
  };
  const Repeats before = launches(metric.values_before);
  const Repeats after = launches(metric.values_after);
  if (before.empty() || after.empty()) return {};
  const Ratio ratio = ratio_of_medians(before, after);
  // The interval is of all pairs of commits, and the ratio of medians may lie outside.
  const bool holds = ratio.low <= metric.ratio && metric.ratio <= ratio.high;
  if (ratio.method.empty() || !holds) return {};
  return std::vector{ratio.low, ratio.high};
}

std::string interval_text(const AlertMetric& metric) {
  const auto interval = change_interval(metric);
  if (!interval) return "";
  return fmt::format("{} to {}", signed_percent(interval->front() - 1),
                     signed_percent(interval->back() - 1));
}

FailingChange largest_failing(const CheckReport& report) {
  FailingChange largest;
  const auto size = [](const AlertMetric& metric) { return std::abs(std::log(metric.ratio)); };
  for (const Alert& alert : report.alerts) {
    if (!alert.fails()) continue;
    for (const AlertMetric& metric : alert.metrics) {
      const bool fails = metric.movement != Verdict::improved && !metric.key.is_detail() &&
                         metric.ending == history::Ending::open;
      if (!fails) continue;
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
  return count == 1
             ? "the only series has too few commits"
             : fmt::format("all {} series have too few commits", count);
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
                          {exact(metric->ratio)},
                          {metric->explanation}});
  }
  return table;
}

}  // namespace dlscale::report
