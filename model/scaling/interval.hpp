#pragma once
#include <span>

#include "core/units.hpp"
#include "model/scaling/scaled_time.hpp"

namespace dlscale::model::scaling {

/// A time and the interval that holds 90 % of measured ones.
struct IntervalTime {
  Seconds low = {};
  Seconds value = {};
  Seconds high = {};
};

/// How predicted times miss measured ones of sets that they were not fitted to: the logarithm of
/// their ratio has its middle at shift (1 - overhead) and the scale
///   s = base + of_overhead · overhead + of_small_batch [b < 0.3 b0] + of_nodes [nodes > 1],
/// times low and high at the 5th and 95th percentile.
struct ErrorModel {
  double shift = 0;
  double base = 0;
  double of_overhead = 0;
  double of_small_batch = 0;
  double of_nodes = 0;
  double low = 0;   ///< < 0
  double high = 0;  ///< > 0
  bool operator==(const ErrorModel&) const = default;
};

IntervalTime with_interval(const ScaledTime& time, const TrainingFacts& facts,
                           const ErrorModel& errors);

/// A prediction of a set left out of the fit.
struct LeftOut {
  const TrainingFacts* facts = nullptr;
  ScaledTime predicted = {};
  Seconds measured = {};
  double weight = 1;  ///< 1 / cases of the set
};
/// By least absolute deviation scaled by s (Laplace), then weighted quantiles. Requires some.
ErrorModel fit_errors(std::span<const LeftOut> left_out);

}  // namespace dlscale::model::scaling
