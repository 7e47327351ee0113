#pragma once
#include "core/base/units.hpp"
#include "core/collective/link.hpp"

namespace dlscale::collective {

/// The best segments of a message of m bytes along a chain of p ranks, whose time with k of them is
///   T(k) = (p - 2 + k)(α + m/k (β + γ))   [MODEL 3.14; γ = 0 for a broadcast, whose link has none]
/// With c = m/k real, c* = √(m α / ((p-2)(β + γ))) and T* = (√((p-2) α) + √(m (β + γ)))².
/// Two ranks are no chain: one segment is best.

/// c* (3.15), but not below an element or above m. Requires 0 < element ≤ m, p ≥ 1.
Bytes optimal_chunk(const Link& link, int p, Bytes m, Bytes element);

/// T* (3.16), a lower bound on the time with whole segments; requires p ≥ 2.
Seconds optimal_chain_time(const Link& link, int p, Bytes m);

/// The whole number of segments nearest to m/c* from below or above, whichever is faster.
int optimal_segments(const Link& link, int p, Bytes m, Bytes element);

}  // namespace dlscale::collective
