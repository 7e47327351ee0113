#pragma once
#include <string>
#include <vector>

#include "report/parallel/parallel_rows.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// The lines below the table of parallel plans that the answers do not hold.
struct ParallelWords {
  std::string rests_on;                 ///< "data sheets and 1057 published trainings"
  std::string more;                     ///< a line of options that say more
  std::vector<std::string> notes = {};  ///< sentences before them
};

/// Parallel plans side by side, one a row. Columns: GPUs, tokens a second, in all and of one; the
/// step with its 90 % interval, model flop utilisation, memory of the fullest GPU, whether it fits,
/// and what bounds the step. A second table has the parts of the step, which add up. In records and
/// JSON ("dlscale.parallel_prediction", version 1) values are in SI units. In JSON, plans in stages
/// have pipeline_json() of their step, too. Requires ≥ 1 row.
Document parallel_document(const model::parallel_time::ComparedPlans& plans,
                           const ParallelWords& words);

}  // namespace dlscale::report
