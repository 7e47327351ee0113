#pragma once
#include "model/plan/training_plan.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// A plan of training: the best, held against the simulation; time against cost; and what changes
/// with each choice made otherwise. JSON: {"schema": "dlscale.plan", "version": 1, "question": ...,
/// "best": [...], "front": [...], "neighbours": [...], ...}
Document plan_document(const model::TrainingPlan& plan);

}  // namespace dlscale::report
