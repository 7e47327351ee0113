#pragma once
#include <span>

#include "model/parallel/uncertain/measured_points.hpp"
#include "model/parallel/uncertain/point_range.hpp"

namespace dlscale::model::parallel_time {

/// measured_factor() of points by the constants of a setting, which they have moved. Requires
/// points, each of its own number of GPUs; `gpus` ≥ 1.
double measured_factor(const Setting& setting, std::span<const MeasuredPoint> points, double gpus);

/// The interval of a plan on `gpus` ≥ 1 after constants were fitted to measured points of it or of
/// another, by change_by_points(). Points leave unexplained what the fitted constants of `setting`
/// do. Requires points. `micro_batch` > 0 is that of the plan.
TimeRange range_by_points(const TimeRange& before, const ParallelTimeFile& file,
                          const Setting& setting, std::span<const MeasuredPoint> points,
                          double gpus, double micro_batch, bool is_measured_plan);

}  // namespace dlscale::model::parallel_time
