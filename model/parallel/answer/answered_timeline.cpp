#include "model/parallel/answer/answered_timeline.hpp"

#include <vector>

namespace dlscale::model::parallel_time {

ParallelTimeline timeline_of(const AnsweredPlan& row) {
  const std::vector<int> layers = stage_layers_of(row.asked);
  PlanSizes sizes = row.answer.sizes;
  sizes.stage_layers = layers;
  const ParallelTimeline line =
      stretched(parallel_timeline(row.setting, sizes, row.asked), row.setting.measured_factor);
  return with_memory_waits(line, row.answer.waits.likely);
}

}  // namespace dlscale::model::parallel_time
