#pragma once
#include <vector>

#include "app/predict/parallel/predict_parallel.hpp"
#include "model/parallel/timeline/timeline.hpp"

namespace dlscale::app {

/// The same time line, `factor` times as long in all its parts.
inline model::parallel_time::ParallelTimeline stretched(model::parallel_time::ParallelTimeline line,
                                                        double factor) {
  for (auto& stage : line.stages) {
    for (auto& span : stage) {
      span.start = span.start * factor;
      span.end = span.end * factor;
    }
  }
  for (auto& rank : line.times) {
    for (double& seconds : rank.seconds) seconds *= factor;
  }
  line.pipeline = line.pipeline * factor;
  line.iteration = line.iteration * factor;
  return line;
}

/// The time line of an answered plan.
inline model::parallel_time::ParallelTimeline timeline_of(
    const model::parallel_time::AnsweredPlan& row) {
  const std::vector<int> layers = model::parallel_time::stage_layers_of(row.asked);
  model::parallel_time::PlanSizes sizes = row.answer.sizes;
  sizes.stage_layers = layers;
  return stretched(parallel_timeline(row.setting, sizes, row.asked), row.setting.measured_factor);
}

}  // namespace dlscale::app
