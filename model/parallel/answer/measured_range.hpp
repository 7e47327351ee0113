#pragma once
#include <span>

#include "model/parallel/uncertain/interval.hpp"
#include "model/parallel/uncertain/measured_points.hpp"

namespace dlscale::model::parallel_time {

/// The interval of a plan after constants were fitted to measured points of it on other numbers of
/// GPUs. With the deviation s before it, in logarithms:
///   s'² = s² (1 - ρ²) + r²;   ρ = shared · again^d, with d doublings of GPUs to the nearest point
///   r² = mean square of ln(measured / predicted) at the points, by the fitted constants
/// Points that contradict the constants widen it, to 4 s at most. [derived: the error at the plan
/// and at a point, jointly normal; ρ chosen so that the intervals of published series hold,
/// docs/explanation/beyond-data-parallelism.md] `setting` has the fitted constants; `gpus` ≥ 1 are
/// those of the plan. Requires points.
TimeRange range_by_points(const TimeRange& before, const IntervalConstants& constants,
                          const Setting& setting, std::span<const MeasuredPoint> points,
                          double gpus);

}  // namespace dlscale::model::parallel_time
