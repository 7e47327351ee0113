#pragma once
#include <string>

#include "report/sections/report.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// What one worker reaches, alone and beside the others of its node: convolution, update, copy and
/// input rates, and the all-reduce between the ranks of a node. Of one setting, which the table
/// names: f32, the fewest compute threads and the largest crop that were measured, ranks that meet
/// by spinning. No rows for a machine known from data sheets only.
Table worker_table(const model::Machine& machine);

/// Predicted speed-ups, a row a network and a column a number of ranks.
Table speedups_table(const ReportInput& input);

/// A report without training runs on the screen: the fastest algorithm of each layer, what the
/// processor can do, and what messages take. Records and JSON are those of the results.
Document parts_document(const ReportInput& input);

/// The report on one screen: the verdict, what a worker reaches, predicted speed-ups, and
/// prediction against measurement phase by phase. Records and JSON are those of the validation.
Document summary_document(const ReportInput& input);

}  // namespace dlscale::report
