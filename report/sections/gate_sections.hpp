#pragma once
#include <optional>
#include <string>
#include <vector>

#include "regression/gate/gate_report.hpp"
#include "report/figure/figure.hpp"
#include "report/page/page.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// A gate for people and programs: the headline, a table of changes (largest first), and tables of
/// unchanged metrics. Records: one row for each metric, with its verdict.
Document gate_document(const regression::GateReport& gate);

/// The figures of a gate: all metrics, and the changed ones round by round.
Figures gate_figures(const regression::GateReport& gate);

/// Sections in reading order: changes, reliability, method, all measurements.
std::vector<Section> gate_sections(const regression::GateReport& gate);

/// The page of a gate.
Page gate_page(const regression::GateReport& gate);

/// "102.9 ms"; a value in that unit.
std::string value_with_unit(double value, const std::string& unit);

/// "96 % ": level of a metric's interval, whose ends are each at 1 − α of the look that judged it;
/// empty without a look.
std::string level_of_interval(const regression::GateReport& gate,
                              const regression::GateMetric& metric);

/// The smallest changes that a gate of as many rounds as this one calls regressed in 8 of 10 cases,
/// as fractions.
struct SmallestChanges {
  double median = 0;  ///< half of the metrics show smaller ones
  double most = 0;    ///< every metric shows it
  int rounds = 0;     ///< of the last look that was made, or of the first
};
/// Absent if no metric has enough rounds.
std::optional<SmallestChanges> smallest_changes(const regression::GateReport& gate);

}  // namespace dlscale::report
