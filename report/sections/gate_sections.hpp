#pragma once
#include <string>
#include <vector>

#include "regression/gate/gate_report.hpp"
#include "report/figure/figures.hpp"
#include "report/sections/sections.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// A gate as people and programs read it: the headline, a table of what changed, the largest change
/// first, and tables of what did not. Records: one row a metric, with its verdict.
Document gate_document(const GateReport& gate);

/// The figures of a gate: all metrics, and those that changed round by round.
Figures gate_figures(const GateReport& gate);

/// In the order in which it is read: verdict, what changed, whether it can be trusted, how it was
/// made, everything measured. For html_page() and markdown_pages().
std::vector<Section> gate_sections(const GateReport& gate);

/// "dlscale: regressed …".
std::string gate_title(const GateReport& gate);

}  // namespace dlscale::report
