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

/// Ends of the 95 % interval of a metric's ratio, by the commits of either level; absent of a
/// drift, where a level has too few commits or a value that is not positive, and where the ratio
/// lies outside.
std::optional<std::vector<double>> change_interval(const regression::history::AlertMetric& metric);
/// The same as "+18.9 % to +21.2 %"; empty if it is absent.
std::string interval_text(const regression::history::AlertMetric& metric);

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

/// One row for each judged series (phases are not judged): the newest value, and its verdict by the
/// most significant alert. A row fails exactly if an alert fails the check; it is inconclusive if
/// fresh runs are needed.
Table check_verdicts(const regression::history::CheckReport& report);

}  // namespace dlscale::report
