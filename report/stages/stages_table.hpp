#pragma once
#include "report/stages/staged_rows.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// The answer of `predict --parallel` for networks that are cut by their layers: a row a plan with
/// rate, time and speed-up with their intervals, memory and verdict, and a row of the parts of its
/// time. JSON: {"schema": "dlscale.stages", "version": 1, "plans": [{…}, …], "notes": […]}.
Document stages_document(const StagedAnswers& answers);

/// The verdict on each plan alone. The same JSON.
Document stages_fit_document(const StagedAnswers& answers);

/// Memory of each stage by kind, with a bar of the device and the verdict, a table a plan. JSON:
/// {"schema": "dlscale.stages_memory", "version": 1, "plans": [{…, "stages": […]}, …]}.
Document stages_memory_document(const StagedAnswers& answers);

/// Why each plan takes its time: shares of its parts, the errors of its interval, and a row a
/// stage: layers, times of a micro-batch, the message to the next one, busy share. JSON: {"schema":
/// "dlscale.stages_explanation", "version": 1, "plans": [{…, "stages": […]}, …]}.
Document stages_explanation_document(const StagedAnswers& answers);

}  // namespace dlscale::report
