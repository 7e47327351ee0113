#pragma once
#include "core/base/units.hpp"
#include "core/collective/link.hpp"

namespace dlscale::collective {

/// The optimal segments of a message of m bytes along a chain of p ranks. With k segments the time
/// is
///   T(k) = (p - 2 + k)(α + m/k (β + γ))   [MODEL 3.14; γ = 0 for a broadcast, whose link has none]
/// With c = m/k real, c* = √(m α / ((p-2)(β + γ))) and T* = (√((p-2) α) + √(m (β + γ)))².
/// Two ranks are not a chain: one segment is optimal.

/// c* (3.15), limited to [element, m]. Requires 0 < element ≤ m, p ≥ 1.
Bytes optimal_chunk(const Link& link, int p, Bytes m, Bytes element);

/// T* (3.16), a lower bound on the time with whole segments; requires p ≥ 2.
Seconds optimal_chain_time(const Link& link, int p, Bytes m);

/// The faster of the two whole numbers of segments next to m/c*.
int optimal_segments(const Link& link, int p, Bytes m, Bytes element);

}  // namespace dlscale::collective
