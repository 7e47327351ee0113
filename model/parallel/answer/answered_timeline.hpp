#pragma once
#include "model/parallel/answer/compared_plans.hpp"
#include "model/parallel/timeline/timeline.hpp"

namespace dlscale::model::parallel_time {

/// The time line of an answered plan, with its measured factor and its waits for memory: it takes
/// ParallelAnswer::seconds().
ParallelTimeline timeline_of(const AnsweredPlan& row);

}  // namespace dlscale::model::parallel_time
