#pragma once
#include "model/plan/training_plan.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// A plan of training: the best, compared with the simulation; time against cost; and the effect of
/// changing each choice. JSON: {"schema": "dlscale.plan", "version": 2, "question": ..., "best":
/// [...], "front": [...], "neighbours": [...], ...}
Document plan_document(const model::TrainingPlan& plan);

}  // namespace dlscale::report
