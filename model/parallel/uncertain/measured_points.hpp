#pragma once
#include <span>

#include "core/parallel/plan.hpp"
#include "model/parallel/pipeline/makespans.hpp"
#include "model/parallel/time/iteration.hpp"

namespace dlscale::model::parallel_time {

/// A measured iteration of the user's own, on the cluster and by the framework that are asked of.
struct MeasuredPoint {
  PlanSizes plan = {};
  Links links = {};                      ///< of the GPUs that it ran on
  double seconds = 1;                    ///< > 0
  parallel::ParallelPlan schedule = {};  ///< its schedule counts, with layers of parts
  double waiting = 1;   ///< factor on its time by waits for memory, MemoryWaits::likely
  double surprise = 0;  ///< surprise_of() it by fitted constants
};

/// The same setting with other constants, and with the links of another number of GPUs.
Setting with_constants(const Setting& setting, const TimeConstants& constants, const Links& links);

/// The predicted seconds of a point with such constants. `makespans` as for plan_time().
double predicted_seconds(const Setting& setting, const TimeConstants& constants,
                         const MeasuredPoint& point, const Makespans* makespans = nullptr);

/// Constants as the points suggest them, with the least
///   Σ 2 (√(1 + z²) − 1) + Σ δ²,  z = ln(predicted / measured) / noise
/// for a plan of `micro_batch` > 0, whose distance from that of a point decides the noise
/// (noise_at()). δ are the constants' distances from those of the setting, in spreads of the
/// logarithm. |δ| is limited, and an odd point counts less. Constants that differ by framework or
/// cluster may move by the spread of their priors (launches, starts of collectives and messages,
/// gaps), products, attention and loss by half of it, element-wise work by 0.3; others stay.
/// MeasuredConstants has the numbers. [derived]
TimeConstants by_measured_points(const ParallelTimeFile& file, const Setting& setting,
                                 std::span<const MeasuredPoint> points, double micro_batch);

}  // namespace dlscale::model::parallel_time
