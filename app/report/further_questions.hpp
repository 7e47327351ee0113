#pragma once
#include <vector>

#include "report/answers/answer_json.hpp"
#include "report/table/table.hpp"

namespace dlscale::app {

// Further commands about the training of an answer in JSON of predict and plan, by the options that
// it states; an answer that states none has no such command.

/// For a run that the JSON of predict suggests.
std::vector<report::NextStep> steps_of_run(const report::SuggestedRun& run,
                                           const report::Json& answer);

/// For the JSON of plan about networks without parallel plans.
std::vector<report::NextStep> steps_of_planned_run(const report::Json& answer);

/// For the JSON of predict and plan about parallel plans.
std::vector<report::NextStep> steps_of_parallel_run(const report::Json& answer);
std::vector<report::NextStep> steps_of_parallel_plan(const report::Json& answer);
std::vector<report::NextStep> steps_of_memory(const report::Json& answer);
/// For the JSON of predict about stages of CNNs, and about branches.
std::vector<report::NextStep> steps_of_stages(const report::Json& answer);
std::vector<report::NextStep> steps_of_branches(const report::Json& answer);

/// For the JSON of predict --explain.
std::vector<report::NextStep> steps_of_explanation(const report::Json& answer);

/// For answers of predict without a page, such as layers and costs.
std::vector<report::NextStep> steps_of_details(const report::Json& answer);

}  // namespace dlscale::app
