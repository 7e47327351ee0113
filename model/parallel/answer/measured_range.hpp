#pragma once
#include <span>

#include "model/parallel/uncertain/interval.hpp"
#include "model/parallel/uncertain/measured_points.hpp"

namespace dlscale::model::parallel_time {

/// Measured over predicted seconds by fitted constants, which makes each point exact: its logarithm
/// is linear in ln GPUs between points, and constant beyond them. Requires points, each of its own
/// number of GPUs; `gpus` ≥ 1.
double measured_factor(const Setting& setting, std::span<const MeasuredPoint> points, double gpus);

/// The interval of a plan after constants were fitted to measured points of it on other numbers of
/// GPUs. With the deviation s before it, in logarithms:
///   s'² = s² (1 - ρ²) + r²;   ρ = correlation · correlation_left^d, d doublings of GPUs to the
///   nearest point, by MeasuredConstants
///   r² = mean square of ln(measured / predicted) at the points, by the fitted constants
/// Points that contradict the constants widen it, to 4 s at most. The measured plan itself is met
/// by measured_factor(): at a point it varies by ± 3 % as repetitions do, and within a doubling of
/// GPUs from there, d of s'² adds up. [derived: the error at the plan and at a point, jointly
/// normal; ρ chosen so that the intervals of published series hold,
/// docs/explanation/beyond-data-parallelism.md] `setting` has the fitted constants; `gpus` ≥ 1 are
/// those of the plan. Requires points.
TimeRange range_by_points(const TimeRange& before, const ParallelTimeFile& file,
                          const Setting& setting, std::span<const MeasuredPoint> points,
                          double gpus, bool is_measured_plan);

}  // namespace dlscale::model::parallel_time
