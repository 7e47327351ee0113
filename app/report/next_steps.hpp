#pragma once
#include <span>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/results/measurement.hpp"
#include "regression/gate/gate_report.hpp"
#include "report/page/page.hpp"
#include "report/sections/report.hpp"
#include "report/table/field_table.hpp"

namespace dlscale::app {

// Commands that the answer on a page suggests to its reader.

/// For the JSON of compare; with names in place of its sides where it does not state them.
std::vector<report::NextStep> steps_of_comparison(const report::Json& answer);

/// `file` is the gate's result; empty if it was not kept.
std::vector<report::NextStep> steps_of_gate(const regression::GateReport& gate,
                                            const std::string& file);

/// For these folders and files side by side.
std::vector<report::NextStep> steps_of_side_by_side(const std::vector<std::string>& sources);

/// For training runs of these results that were held against predictions by a machine file.
/// `files` are of the folders `results`.
std::vector<report::NextStep> steps_of_validation(ExitCode verdict, bool is_certain,
                                                  const std::string& machine,
                                                  const std::vector<std::string>& results,
                                                  std::span<const ResultFile> files);

/// For results, with or without training runs; `machine` is the file of theirs that predicts.
std::vector<report::NextStep> steps_of_results(const report::ReportInput& input,
                                               const std::string& machine,
                                               const std::vector<std::string>& results);

}  // namespace dlscale::app
