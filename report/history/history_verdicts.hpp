#pragma once
#include <string>

#include "regression/check/check.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// What became of a metric of an alert: "regressed", "improved", "shifted"; of an alert that people
/// have dealt with, what they made of it, too: "regressed (acknowledged)"; of what only explains
/// another metric "regressed (detail)".
std::string verdict_word(const history::Alert& alert, const history::AlertMetric& metric);

/// One row a series that is judged, which phases are not: the value of the newest commit, and what
/// became of it, by the alert that tells most. A row has failed where, and only where, an alert
/// fails the check; one is inconclusive where fresh runs are wanted.
Table check_verdicts(const history::CheckReport& report);

}  // namespace dlscale::report
