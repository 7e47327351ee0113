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
/// measured over predicted has its middle at m = shift (1 - overhead) and the scale
///   s = base + of_overhead · overhead + of_small_batch [b < 0.3 b0] + of_nodes [nodes > 1],
/// times low and high at the 5th and 95th percentile. What the model leaves out slows computing
/// down much more often than not, which makes m > 0 and high larger than -low.
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

/// value = total · e^m, and e^(low s) and e^(high s) of it.
IntervalTime with_interval(const ScaledTime& time, const TrainingFacts& facts,
                           const ErrorModel& errors);

/// A prediction of a set left out of the fit.
struct LeftOut {
  const TrainingFacts* facts = nullptr;
  ScaledTime predicted = {};
  Seconds measured = {};
  double weight = 1;  ///< 1 / cases of the set
};

/// The shift and the parts of the scale under which errors of Laplace's distribution of that middle
/// and scale are likeliest, all parts > 0:
///   Σ w (ln s + |ln(measured / predicted) - m| / s) / Σ w + 0.001 Σ (ln(part / usual))²
/// is least, with usual parts 0.02, 0.15, 0.1, 0.02, which count only for what no error tells. Then
/// low and high are weighted quantiles of the errors over s, at the levels that make up for the
/// finite number of errors: 1 - a and a = 0.95 (1 + 1/n), n = (Σ w)² / Σ w². [G. Shafer & V. Vovk,
/// JMLR 9, 2008, for unweighted errors] Requires some; low is at most -0.1 and high at least 0.1.
ErrorModel fit_errors(std::span<const LeftOut> left_out);

}  // namespace dlscale::model::scaling
