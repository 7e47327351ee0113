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

/// The smallest changes that a gate calls regressed in 8 of 10 cases at its last look, as
/// fractions.
struct SmallestChanges {
  double median = 0;  ///< half of the metrics show smaller ones
  double most = 0;    ///< every metric shows it
};
/// Absent if no metric has enough rounds.
std::optional<SmallestChanges> smallest_changes(const regression::GateReport& gate);

}  // namespace dlscale::report
