#pragma once
#include <string>

#include "report/sections/report.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// Performance of one worker, alone and together with the others of its node. Covers convolution,
/// update, copy and input rates, and the all-reduce between the ranks of a node. The table names
/// its setting: f32, the fewest compute threads and the largest crop measured, ranks that spin
/// while waiting. Empty for a machine known from data sheets only.
Table worker_table(const model::Machine& machine);

/// Predicted speed-ups, one row for each network, one column for each number of ranks.
Table speedups_table(const ReportInput& input);

/// Screen report without training runs: the fastest algorithm of each layer, capabilities of the
/// processor, and times of messages. Records and JSON are those of the results.
Document parts_document(const ReportInput& input);

/// Screen report: the verdict, performance of a worker, predicted speed-ups, and iterations as
/// predicted against measured. Records and JSON are those of the validation.
Document summary_document(const ReportInput& input);

}  // namespace dlscale::report
