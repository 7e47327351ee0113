#pragma once
#include <string>

#include "core/parallel/plan.hpp"
#include "core/run/run.hpp"
#include "model/parallel/stages/predict_stages.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// A predicted training in stages, with its question.
struct StagedAnswer {
  Run run;
  parallel::ParallelPlan plan;
  model::StagedTraining training;
};

/// The answer of `predict --parallel` for networks that are cut by their layers. A row a stage:
/// layers, times of a micro-batch, message to the next, memory, busy share. A second table says
/// where the iteration's time goes. JSON: {"schema": "dlscale.stages", "version": 1, …}.
Document stages_document(const StagedAnswer& answer);

}  // namespace dlscale::report
