#pragma once
#include "core/base/units.hpp"

namespace dlscale::bench {

/// Times of computing and messages, each alone and both at once. All are positive.
struct OverlapTimes {
  Seconds compute_alone;    ///< T_c
  Seconds messages_alone;   ///< T_m
  Seconds together;         ///< T_o, from when both could begin until the later one ended
  Seconds compute_beside;   ///< C_o, computing during the messages; it begins where T_o does
  Seconds messages_beside;  ///< M_o, the messages during computing
};

/// How well both overlap.
struct Overlap {
  /// E = (T_c + T_m - T_o) / min(T_c, T_m): 1 if the shorter of both was hidden, 0 if serial
  /// execution takes as long, negative if it is faster. It is not clamped at 0, which would hide
  /// contention for a core or the memory.
  double efficiency = 0;
  double compute_slowdown = 0;   ///< C_o / T_c
  double messages_slowdown = 0;  ///< M_o / T_m
  Seconds exposed;               ///< max(0, T_o - C_o): time of the messages after computing
  /// M_o - exposed. Negative where messages began so late that the wait for them was exposed, too.
  Seconds hidden;
};
Overlap overlap(const OverlapTimes& times);

/// The number of runs of `each` > 0 whose time is closest to `ratio` times that of the messages; 1
/// to a million.
int matching_runs(double ratio, Seconds messages, Seconds each);

}  // namespace dlscale::bench
