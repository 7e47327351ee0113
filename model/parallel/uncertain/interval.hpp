#pragma once
#include "model/parallel/time/iteration.hpp"

namespace dlscale::model::parallel_time {

/// Facts that widen an interval beside the times.
struct IntervalFacts {
  bool is_family_named = true;  ///< a family names the framework
};

/// Factors on a time that bound it in 90 of 100 trainings.
struct TimeRange {
  double low = 1;   ///< ≤ 1
  double high = 1;  ///< ≥ 1
};

/// The 90 % interval of an iteration's time, e^(low s) … e^(high s):
///   s² = always² + (host φ_h)² + (messages φ_m)² + (pipeline φ_p)² + Σ unseen²
///   φ_h = λ H⁴ / (H⁴ + D⁴), φ_m = λ min(1, messages / layer) D⁴ / (H⁴ + D⁴) + exposed gradients'
///   share φ_p = 1 - m max T_i / pipeline; λ: share of layers in the iteration
/// H and D are times of host and device of a layer. Each kind of training that no fit has seen adds
/// its own. [derived; fitted to errors of sets that were left out]
TimeRange time_range(const IntervalConstants& constants, const Setting& setting,
                     const PlanSizes& plan, const IterationTime& time,
                     const IntervalFacts& facts = {});

}  // namespace dlscale::model::parallel_time
