#pragma once
#include <vector>

#include "app/predict/parallel/predict_parallel.hpp"
#include "model/parallel/timeline/timeline.hpp"

namespace dlscale::app {

/// The time line of an answered plan.
inline model::parallel_time::ParallelTimeline timeline_of(
    const model::parallel_time::AnsweredPlan& row) {
  const std::vector<int> layers = model::parallel_time::stage_layers_of(row.asked);
  model::parallel_time::PlanSizes sizes = row.answer.sizes;
  sizes.stage_layers = layers;
  return parallel_timeline(row.setting, sizes, row.asked);
}

}  // namespace dlscale::app
