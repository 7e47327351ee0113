#pragma once
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/results/measurement.hpp"
#include "regression/check/check.hpp"
#include "regression/check/strip.hpp"
#include "regression/history/series_key.hpp"
#include "regression/history/store.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// A reported series of a history: the median that the results have.
struct ReportedValue {
  std::string series;  ///< id
  regression::history::SeriesKey key;
  double value = 0;  ///< in the metric's unit; median of several measurements
  std::string commit;
  /// State of the same series in the history; absent if the history lacks it.
  std::optional<regression::history::SeriesCheck> kept;
  /// Difference from the environment of the latest series of the same question in the history
  /// ("oneDNN: 2.6 → 3.0"). Empty if there is none, or if `kept` is set.
  std::string differs;
};

/// Commands for the reader of a page about a history.
struct HistoryCommands {
  std::string add;                                               ///< adds results to it
  std::string check;                                             ///< makes the page's check again
  std::function<std::string(const std::string& commit)> bisect;  ///< searches an alert's range
  /// Puts an alert into a state, and says WHY.
  std::function<std::string(const std::string& commit, const char* state)> annotate;
  std::string doctor = {};  ///< finds what makes this machine noisy
};

/// Steps after a check, at most 3: search the largest change and explain it, measure again, or add
/// the next commit and check again.
std::vector<NextStep> steps_of_check(const regression::history::CheckReport& report,
                                     const HistoryCommands& commands);

/// A history as a page shows it.
struct HistoryView {
  HistoryCommands commands;
  regression::history::CheckReport report;
  std::vector<regression::history::Strip> strips;
  std::vector<ReportedValue> reported;  ///< by name; empty on a page of a history alone
};

/// The series of results: each metric that a history would keep, once.
std::vector<ReportedValue> reported_values(std::span<const ResultFile> results);

/// View of the series that are `wanted` and, if `reported` is not empty, are reported. Empty if the
/// history has none of the reported ones. Throws Error (nothing_measured) if no series is wanted at
/// all.
HistoryView look_at_history(
    regression::history::Store& store, HistoryCommands commands,
    const std::function<bool(const regression::history::SeriesKey&)>& wanted,
    const regression::history::CheckRules& rules, std::vector<ReportedValue> reported);

}  // namespace dlscale::report
