#pragma once
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

/// "conv batch=1: t_f".
std::string metric_name(const regression::GateMetric& metric);
/// "2.1 % in the middle metric, 4.0 % at most": the smallest changes that the gate sees in 8 of 10
/// cases; empty if no metric says so.
std::string smallest_changes(const regression::GateReport& gate);

}  // namespace dlscale::report
