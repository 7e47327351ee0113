#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "report/page/blocks.hpp"
#include "report/results/result_table.hpp"
#include "report/sections/report.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// The sections of report_page() in reading order.
std::vector<Section> report_sections(const ReportInput& input);

// The sections, one function each.
Section errors_section(const ReportInput& input);
Section steps_section(const ReportInput& input);
Section side_by_side_section(const ReportInput& input);  ///< requires two columns
Section files_section(const ReportInput& input);
Section raw_section(const ReportInput& input);
Section validation_section(const ReportInput& input);
Section speedup_section(const ReportInput& input);
Section machine_section(const model::Machine& machine);
Section convolution_section(const ReportInput& input);  ///< requires input.kernels
Section processor_section(const ReportInput& input);
Section messages_section(const ReportInput& input);
Section communication_section(const ReportInput& input);
Section suite_section(const ReportInput& input);  ///< requires input.suites
Section environment_section(const ReportInput& input);
Section warnings_section(const ReportInput& input);

/// A page of results side by side alone: predictions need one machine.
Page side_by_side_page(const ReportInput& input);

// Tables that are also printed on the screen. Requires input.kernels.
std::vector<Table> convolution_summary(const ReportInput& input);

/// "quick, 20 cells: 17 ok, 1 crashed, 2 left"; empty without suites.
std::string suites_sentence(const ReportInput& input);
/// Outcome of each cell of suites, as records (Document::cells).
Table cell_records(const ReportInput& input);
/// Cells of suites without a result, also printed on the screen: one table for each suite that has
/// any.
std::vector<Table> suite_troubles(const ReportInput& input);

}  // namespace dlscale::report
