#pragma once
#include <optional>
#include <string>
#include <vector>

#include "regression/check/check.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// Verdict on a metric of an alert: "regressed", "improved", "shifted". Adds the state that people
/// gave the alert, "regressed (acknowledged)", or "(detail)" if the metric only explains another.
std::string verdict_word(const regression::history::Alert& alert,
                         const regression::history::AlertMetric& metric);

/// The ratio of a metric's levels, and its interval.
struct LevelRatio {
  /// The ratio of the levels, as pictures draw it; that of all pairs of commits, which the interval
  /// is of, where the interval excludes it (ratio.hpp).
  double value = 1;
  /// The 95 % interval, by the commits of either level; absent of a drift, and where a level has a
  /// value that is not positive or a single commit. The place of the change was searched for in the
  /// same commits, so it is nearer to the found size than 95 % says.
  std::optional<std::vector<double>> ends = {};
};
LevelRatio level_ratio(const regression::history::AlertMetric& metric);
/// Its change as "+19.6 %".
std::string change_text(const regression::history::AlertMetric& metric);
/// Its interval as "+18.9 % to +21.2 %"; empty if it is absent.
std::string interval_text(const regression::history::AlertMetric& metric);
/// "2026-01-16".
std::string day_of(const regression::history::Alert& alert);

/// A metric that changed, and its alert.
struct FailingChange {
  const regression::history::Alert* alert = nullptr;
  const regression::history::AlertMetric* metric = nullptr;
};
/// The largest change that fails the check: open, in a new alert, no improvement and no detail.
/// Null pointers if nothing fails.
FailingChange largest_failing(const regression::history::CheckReport& report);

/// "all 8 series have too few commits": why nothing is judged; empty if some series is judged or
/// has an alert.
std::string nothing_judged(const regression::history::CheckReport& report);

/// Alerts that ask for something, and how many series those that fail are of.
struct NewChanges {
  long long regressions = 0;   ///< alerts that fail the check
  long long improvements = 0;  ///< new alerts in which all that goes on improved
  std::size_t series = 0;      ///< that fail
};
NewChanges new_changes(const regression::history::CheckReport& report);

/// The smallest changes that a run of the newest commit shows in 8 of 10 cases, over all series
/// with bounds, as fractions (regression::NewPoint::seen).
struct SmallestChange {
  double median = 0;  ///< half of the series show smaller ones
  double most = 0;    ///< every series shows it
};
/// Absent if no series is judged.
std::optional<SmallestChange> smallest_change(const regression::history::CheckReport& report);

/// "14 commits"; "up to 14 commits" if some series have fewer.
std::string commits_text(const regression::history::CheckReport& report);

/// The answer of a check, a sentence without its full stop: "1 regression in 4 series over 24
/// commits: +7.2 % (95 % interval +6.8 % to +7.3 %) at commit 1616 of 2026-01-16, of NAME", or "No
/// new regression in 4 series over 24 commits; a single commit shows changes of 2.5 % or
/// more (4.1 % in the noisiest series)", in 8 of 10 cases.
/// `with_smallest`: the clause after the semicolon.
std::string history_answer(const regression::history::CheckReport& report,
                           bool with_smallest = true);

/// One row for each judged series (phases are not judged): the newest value, and its verdict by the
/// most significant alert. A row fails exactly if an alert fails the check; it is inconclusive if
/// fresh runs are needed.
Table check_verdicts(const regression::history::CheckReport& report);

}  // namespace dlscale::report
