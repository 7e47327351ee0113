#pragma once
#include <optional>
#include <span>

#include "core/parallel/plan.hpp"
#include "model/parallel/time/iteration.hpp"

namespace dlscale::model::parallel_time {

/// A measured iteration of the user's own, on the cluster and by the framework that are asked of.
struct MeasuredPoint {
  PlanSizes plan = {};
  Links links = {};    ///< of the GPUs that it ran on
  double seconds = 1;  ///< > 0
  /// The plan whose pipeline is simulated (is_simulated()); absent: none is.
  std::optional<parallel::ParallelPlan> simulated = {};
};

/// The same setting with other constants, and with the links of another number of GPUs.
Setting with_constants(const Setting& setting, const TimeConstants& constants, const Links& links);

/// The predicted seconds of a point with such constants.
double predicted_seconds(const Setting& setting, const TimeConstants& constants,
                         const MeasuredPoint& point);

/// Constants as the points suggest them, with the least
///   Σ 2 (√(1 + z²) − 1) + Σ δ²,  z = ln(predicted / measured) / 0.06
/// over their distances δ from those of the setting, in spreads of the logarithm. |δ| ≤ 3, and an
/// odd point counts less. Constants that differ by framework or cluster may move by the
/// spread of their priors (launches, starts of collectives and messages, gaps), products, attention
/// and loss by half of it, element-wise work by 0.3; others stay. [derived]
TimeConstants by_measured_points(const ParallelTimeFile& file, const Setting& setting,
                                 std::span<const MeasuredPoint> points);

}  // namespace dlscale::model::parallel_time
