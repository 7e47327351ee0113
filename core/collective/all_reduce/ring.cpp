#include "core/collective/algorithm.hpp"
#include "core/collective/rounds.hpp"

namespace dlscale::collective {
namespace {

/// Reduce-scatter around the ring, then all-gather around the ring.
Schedule ring_schedule(const Settings& settings) {
  const int p = settings.p;
  const Rounds gather = ring_all_gather(everyone(p), {});
  return {p, p, in_turn(backwards(gather), gather)};
}

/// T = 2 (p-1) α + 2 (p-1)/p m β + (p-1)/p m γ   [Patarasuk & Yuan 2009]
/// It has the fewest bytes on the wire of all algorithms, and the most messages.
Seconds ring_cost(const Links& links, const Settings& settings, Bytes m) {
  const auto [alpha, beta, gamma] = links.inter;
  const double P = settings.p;
  return 2 * (P - 1) * alpha + 2 * (P - 1) / P * m * beta + (P - 1) / P * m * gamma;
}

}  // namespace

extern const Algorithm all_reduce_ring{
    "ring",
    "reduce-scatter and all-gather around a ring; least bytes on the wire",
    Collective::all_reduce,
    ring_schedule,
    ring_cost,
    Outflow::one};

}  // namespace dlscale::collective
