#pragma once
#include <span>
#include <string_view>

#include "core/base/units.hpp"

namespace dlscale::model {

/// The time of one size on a number of ranks.
struct RankTime {
  double ranks = 1;  ///< ≥ 1
  Seconds time;      ///< > 0
};

/// T(p) = a + s lg p with s ≥ 0, by least squares of relative errors. Each number of ranks weighs
/// half as much as the next larger one. It is the latency of trees and of recursive doubling
/// ((3.1), (3.2), (3.4)), and the contention of large messages as the ranks double. Requires two or
/// more times of ascending ranks.
Seconds logarithmic(std::span<const RankTime> given, double ranks);

/// T(p) = a + s p through the last two, s ≥ 0: the latency of a ring (3.3). Same requirement.
Seconds linear(std::span<const RankTime> given, double ranks);

/// T(p) = a p^s through the first and the last. Same requirement.
Seconds power(std::span<const RankTime> given, double ranks);

/// Growth of a time from `from` ≥ 2 to `to` ≥ 2 ranks. The share w = `latency` grows by g =
/// `latency_growth`, and the rest as the load of a link of a ring:
///   w g + (1 − w) c(p) / c(q),   c(n) = 2 (n−1) / n of an all-reduce             (3.3)
/// For collectives whose c is not known the rest does not grow.
struct RankStep {
  std::string_view collective;
  int from = 2;
  int to = 2;
};
double split_growth(const RankStep& step, double latency, double latency_growth);

/// lg p / lg q: growth of the latency of trees.
double tree_growth(const RankStep& step);
/// (p − 1) / (q − 1): growth of the latency of rings.
double ring_growth(const RankStep& step);

}  // namespace dlscale::model
