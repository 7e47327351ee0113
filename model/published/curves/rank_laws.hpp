#pragma once
#include <span>
#include <string_view>

#include "core/base/units.hpp"

namespace dlscale::model {

/// What one size takes on a number of ranks.
struct RankTime {
  double ranks = 1;  ///< ≥ 1
  Seconds time;      ///< > 0
};

/// T(p) = a + s lg p with s ≥ 0, by least squares of relative errors, in which each number of ranks
/// weighs half as much as the next larger one: the latency of trees and of recursive doubling is so
/// ((3.1), (3.2), (3.4)), and what contention adds to large messages as the ranks double. Requires
/// two or more times of ascending ranks.
Seconds logarithmic(std::span<const RankTime> given, double ranks);

/// T(p) = a + s p through the last two, s ≥ 0: the latency of a ring (3.3). Requires the same.
Seconds linear(std::span<const RankTime> given, double ranks);

/// T(p) = a p^s through the first and the last. Requires the same.
Seconds power(std::span<const RankTime> given, double ranks);

/// Growth of a time from `from` ≥ 2 to `to` ≥ 2 ranks of which the share `latency` grows by
/// `latency_growth`, and the rest as what each link of a ring carries:
///   w g + (1 − w) c(p) / c(q),   c(n) = 2 (n−1) / n of an all-reduce             (3.3)
/// Of collectives whose c is not known the rest stays.
struct RankStep {
  std::string_view collective;
  int from = 2;
  int to = 2;
};
double split_growth(const RankStep& step, double latency, double latency_growth);

/// lg p / lg q: of trees.
double tree_growth(const RankStep& step);
/// (p − 1) / (q − 1): of rings.
double ring_growth(const RankStep& step);

}  // namespace dlscale::model
