#pragma once
#include <span>

#include "core/base/units.hpp"
#include "model/published/scaling/time/scaled_time.hpp"

namespace dlscale::model::scaling {

/// A time and the interval that holds 90 % of measured ones.
struct IntervalTime {
  Seconds low = {};
  Seconds value = {};
  Seconds high = {};
};

/// How predicted times miss measured ones of sets that they were not fitted to: the logarithm of
/// measured over predicted has its middle at m = d shift (1 - overhead) and the scale
///   s = d (base + of_overhead · overhead + of_small_batch [b < 0.3 b0] + of_nodes [nodes > 1]
///          + of_doubt · in_doubt / total + of_hidden · hidden / total) + (1 - d) 0.005,
/// hidden being communication - transfer and d ScaledTime::differs, times low and high at the ends
/// of the shortest interval that holds 90 %. What the model leaves out slows computing down much
/// more often than not, which makes m > 0.
struct ErrorModel {
  double shift = 0;
  double base = 0;
  double of_overhead = 0;
  double of_small_batch = 0;
  double of_nodes = 0;
  double of_doubt = 0;   ///< of what hangs on an overlap that is not told
  double of_hidden = 0;  ///< of communication that is expected to be hidden, and may not be
  double low = 0;        ///< < 0
  double high = 0;       ///< > 0
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

/// The shift that makes Σ w 2 (√(1 + z²) − 1) least, z = (ln(measured / predicted) − m) / s, the
/// loss of fit(): near a mean for small errors and a median for large ones, of which more are late
/// than early. The parts of the scale under which errors of Laplace's distribution of that middle
/// and scale are likeliest, all parts > 0:
///   Σ w (ln s + |ln(measured / predicted) - m| / s) / Σ w + 0.001 Σ (ln(part / usual))²
/// is least, with usual parts 0.02, 0.15, 0.1, 0.02, 0.1, 0.05, which count only for what no error
/// tells. Then low and high are weighted quantiles of the errors over s, of all that are a apart
/// those nearest to each other; a = 0.9 (1 + 1/n), n = (Σ w)² / Σ w², makes up for the finite
/// number of errors. [G. Shafer & V. Vovk, JMLR 9, 2008, for unweighted errors; the shortest
/// interval is a choice] Requires some; low is at most -0.1 and high at least 0.1.
ErrorModel fit_errors(std::span<const LeftOut> left_out);

}  // namespace dlscale::model::scaling
