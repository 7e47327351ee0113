#pragma once
#include "core/parallel/plan.hpp"
#include "model/parallel/stages/predict_stages.hpp"
#include "model/parallel/timeline/timeline.hpp"

namespace dlscale::model {

/// The iteration of a pipeline of `plan` as it was simulated, without waits for input. Backward has
/// what is computed again; waits for messages count as waits for stages.
parallel_time::ParallelTimeline staged_timeline(const StagedTraining& training,
                                                const parallel::ParallelPlan& plan);

}  // namespace dlscale::model
