#pragma once
#include <string>
#include <vector>

#include "regression/gate/gate_report.hpp"
#include "report/figure/figures.hpp"
#include "report/sections/sections.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// A gate for people and programs: the headline, a table of changes (largest first), and tables of
/// unchanged metrics. Records: one row for each metric, with its verdict.
Document gate_document(const regression::GateReport& gate);

/// The figures of a gate: all metrics, and the changed ones round by round.
Figures gate_figures(const regression::GateReport& gate);

/// Sections in reading order: verdict, changes, reliability, method, all measurements. Input of
/// html_page() and markdown_pages().
std::vector<Section> gate_sections(const regression::GateReport& gate);

/// "dlscale: regressed …".
std::string gate_title(const regression::GateReport& gate);

}  // namespace dlscale::report
