#pragma once
#include <cstddef>
#include <optional>
#include <span>

namespace dlscale::regression {

/// One-sided confidence bounds of a location, each at the level 1 − α; both together hold with 1 −
/// 2α. Absent if there are too few values for a bound at that level.
struct Bounds {
  std::optional<double> low;
  std::optional<double> high;
};

/// The sign test of a median, exact [Conover, Practical Nonparametric Statistics, 3.4]:
///
///   S = number of d_i above the tested value, binomial(n, 1/2) if that is the median
///   bounds: order statistics d_(c + 1) and d_(n − c), c = the largest with P(S ≤ c) ≤ α
///
/// Assumes independence only, not symmetry. Differences equal to the tested value count as not
/// beyond it, which errs on the side of no alarm.

/// P(S ≥ s) for n tosses of a fair coin. Requires n ≤ 1000.
double coin_at_least(std::size_t n, std::size_t s);

/// Likewise of at least so many hits of a share below 1, to 1e-12.
double hits_at_least(std::size_t n, std::size_t hits, double share);

/// Bounds of the median of sorted, finite values.
Bounds sign_test_bounds(std::span<const double> sorted, double alpha);

/// p of "the median is at most `value`" against "it is above"; p ≤ alpha if and only if the bound
/// `low` at alpha is above `value`.
double sign_test_p_above(std::span<const double> sorted, double value);
/// p of "the median is at least `value`" against "it is below".
double sign_test_p_below(std::span<const double> sorted, double value);

}  // namespace dlscale::regression
