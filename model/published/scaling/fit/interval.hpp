#pragma once
#include <algorithm>
#include <span>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/units.hpp"
#include "model/published/scaling/time/scaled_time.hpp"

namespace dlscale::model::scaling {

/// A value that counts for `weight` > 0.
struct Weighted {
  double value = 0;
  double weight = 1;
};

/// The q-quantile of weighted values, 0 ≤ q ≤ 1. The i-th value is at the middle of its weight,
///   (w_1 + … + w_(i-1) + w_i / 2) / Σ w.
/// The quantile is linear between values, and the least or the greatest beyond them. For equal
/// weights this is the definition of Hazen (Hyndman & Fan type 5).
inline double weighted_quantile(std::vector<Weighted> values, double q) {
  EXPECT(!values.empty() && q >= 0 && q <= 1);
  std::sort(values.begin(), values.end(), [](const Weighted& a, const Weighted& b) {
    return a.value < b.value || (a.value == b.value && a.weight < b.weight);
  });
  double sum = 0;
  for (const Weighted& one : values) sum += one.weight;
  const double wanted = q * sum;
  double place = 0;  // position of the previous value, in weight
  double below = 0;  // weight of all previous values
  const Weighted* before = nullptr;
  for (const Weighted& one : values) {
    const double here = below + one.weight / 2;
    if (here >= wanted) {
      if (before == nullptr || here == place) return one.value;
      return before->value + (one.value - before->value) * (wanted - place) / (here - place);
    }
    below += one.weight;
    place = here;
    before = &one;
  }
  return values.back().value;
}

/// A time and the interval that holds 90 % of measured ones.
struct IntervalTime {
  Seconds low = {};
  Seconds value = {};
  Seconds high = {};
};

/// The distribution of errors at sets that were not fitted to. The logarithm of measured over
/// predicted has its middle at m = d shift (1 - overhead) and the scale
///   s = d (base + of_overhead · overhead + of_small_batch [b < 0.3 b0] + of_nodes [nodes > 1]
///          + of_doubt · in_doubt / total + of_hidden · hidden / total) + (1 - d) 0.005,
/// where hidden is communication - transfer and d is ScaledTime::differs. The shortest interval
/// that holds 90 % of the logarithms ends at m + s low and m + s high. Effects missing from the
/// model mostly slow computing down, so that m > 0.
struct ErrorModel {
  double shift = 0;
  double base = 0;
  double of_overhead = 0;
  double of_small_batch = 0;
  double of_nodes = 0;
  double of_doubt = 0;   ///< for terms that depend on an unknown overlap
  double of_hidden = 0;  ///< for communication that is expected, but not certain, to be hidden
  double low = 0;        ///< < 0
  double high = 0;       ///< > 0
  bool operator==(const ErrorModel&) const = default;
};

/// value = total · e^m, with the ends value · e^(low s) and value · e^(high s).
IntervalTime with_interval(const ScaledTime& time, const TrainingFacts& facts,
                           const ErrorModel& errors);

/// A prediction of a set that the fit did not use.
struct LeftOut {
  const TrainingFacts* facts = nullptr;
  ScaledTime predicted = {};
  Seconds measured = {};
  double weight = 1;  ///< 1 / number of the set's cases
};

/// Fits the shift and the parts of the scale to errors z = (ln(measured / predicted) − m) / s.
///
/// The shift minimises Σ w 2 (√(1 + z²) − 1), the loss of fit(). It is near a mean for small errors
/// and a median for large ones, most of which are late. The parts of the scale, all > 0, are the
/// likeliest for errors of Laplace's distribution of that middle and scale. They minimise
///   Σ w (ln s + |ln(measured / predicted) - m| / s) / Σ w + 0.001 Σ (ln(part / usual))²
/// with usual parts 0.02, 0.15, 0.1, 0.02, 0.1, 0.05, which only matter where errors say nothing.
///
/// low and high are weighted quantiles of the errors over s: of all pairs that are a apart, the
/// nearest to each other. a = 0.9 (1 + 1/n), n = (Σ w)² / Σ w², compensates for the finite number
/// of errors. [G. Shafer & V. Vovk, JMLR 9, 2008, for unweighted errors; the shortest interval is a
/// choice] Requires at least one error; low is at most -0.1 and high at least 0.1.
ErrorModel fit_errors(std::span<const LeftOut> left_out);

}  // namespace dlscale::model::scaling
