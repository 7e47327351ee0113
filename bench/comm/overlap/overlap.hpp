#pragma once
#include "core/base/units.hpp"

namespace dlscale::bench {

/// What computing and messages took, each alone and both at once. All are positive.
struct OverlapTimes {
  Seconds compute_alone;    ///< T_c
  Seconds messages_alone;   ///< T_m
  Seconds together;         ///< T_o, from when both could begin until the later one ended
  Seconds compute_beside;   ///< C_o, of computing meanwhile, which began where T_o does
  Seconds messages_beside;  ///< M_o, of the messages meanwhile
};

/// What that says of doing both at once.
struct Overlap {
  /// E = (T_c + T_m - T_o) / min(T_c, T_m): 1 if the shorter of both was hidden, 0 if one after the
  /// other would have taken as long, negative if it would have been quicker. Never cut off at 0:
  /// that would hide what happens where both fight for one core or the memory.
  double efficiency = 0;
  double compute_slowdown = 0;   ///< C_o / T_c
  double messages_slowdown = 0;  ///< M_o / T_m
  Seconds exposed;               ///< max(0, T_o - C_o): what the messages take after computing
  /// M_o - exposed. Negative where messages began so late that even the wait for them was exposed.
  Seconds hidden;
};
Overlap overlap(const OverlapTimes& times);

/// How many runs of `each` > 0 take `ratio` times as long as the messages, as near as whole runs
/// come; 1 to a million.
int matching_runs(double ratio, Seconds messages, Seconds each);

}  // namespace dlscale::bench
