#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "regression/statistics/sign_test.hpp"

namespace dlscale::regression {

/// Wilcoxon's signed rank for one sample [Wilcoxon 1945; Hollander & Wolfe, Nonparametric
/// Statistical Methods, 3.1–3.3], exact:
///
///   W = Σ ranks of |d_i| over the positive d_i
///     = number of Walsh averages (d_i + d_j) / 2 > 0, i ≤ j
///   P(W = w) = c_n(w) / 2^n;  c_n(w) = c_(n−1)(w) + c_(n−1)(w − n), c_0(0) = 1,
///   0 ≤ w ≤ n(n + 1) / 2
///
/// Assumes independent differences, symmetric about their median. Skewed differences do not keep
/// its level; use the sign test (regression/statistics/sign_test.hpp) for them. Counting Walsh
/// averages also defines it for ties and for differences equal to the tested value, which count as
/// not above it. Never uses a normal approximation.
class SignedRankDistribution {
 public:
  /// The distribution for n differences, 1 ≤ n ≤ 1000 (2^−n must be representable).
  explicit SignedRankDistribution(std::size_t n);
  /// P(W ≥ w); 1 for w = 0.
  [[nodiscard]] double at_least(std::size_t w) const;
  /// The largest c with P(W ≤ c) ≤ alpha; −1 if none exists.
  [[nodiscard]] long critical(double alpha) const;
  [[nodiscard]] std::size_t sample_size() const { return n_; }

 private:
  std::size_t n_;
  std::vector<double> up_to_;  ///< P(W ≤ w)
};

/// The n(n + 1) / 2 averages (d_i + d_j) / 2 with i ≤ j, sorted. Values are finite, here and below.
std::vector<double> walsh_averages(std::span<const double> differences);

/// Bounds of the centre of symmetry, from sorted Walsh averages of `distribution.sample_size()`
/// differences. The bounds invert the test: low is the (c + 1)-th average, high the (c + 1)-th from
/// the end.
Bounds signed_rank_bounds(std::span<const double> averages,
                          const SignedRankDistribution& distribution, double alpha);

/// p of "the centre is at most `value`" against "it is above". The duality with the bounds is
/// exact: p ≤ alpha if and only if the bound `low` at alpha is above `value`.
double signed_rank_p_above(std::span<const double> averages,
                           const SignedRankDistribution& distribution, double value);
/// p of "the centre is at least `value`" against "it is below".
double signed_rank_p_below(std::span<const double> averages,
                           const SignedRankDistribution& distribution, double value);

}  // namespace dlscale::regression
