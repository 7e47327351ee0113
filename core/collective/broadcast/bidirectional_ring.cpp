#include <algorithm>

#include "core/collective/algorithm.hpp"
#include "core/collective/rounds.hpp"

namespace dlscale::collective {
namespace {

/// One half of the message goes around to the right, the other to the left, each in segments. All
/// ranks use both of their ports in or out concurrently, so this is for rings whose neighbours are
/// joined by separate links. With one port for both, it would not be faster than the chain.
Schedule bidirectional_ring_schedule(const Settings& settings) {
  const int k = settings.segments;
  const Group right = everyone(settings.p, settings.root);
  Group left(right.rbegin(), right.rend());  // the root is last
  std::rotate(left.begin(), left.end() - 1, left.end());
  Schedule result{settings.p, 2 * k,
                  at_once(chain_broadcast(right, {0, k}), chain_broadcast(left, {k, k}))};
  result.rank_ports = 2;
  return result;
}

/// T = (p - 2 + k)(α + m/(2k) β) with k segments in each half, p ≥ 3   [derived: two chains]
/// One link joins two ranks and carries both halves: T = k (α + m/k β).
Seconds bidirectional_ring_cost(const Links& links, const Settings& settings, Bytes m) {
  const Link& link = links.inter;
  const int k = settings.segments;
  const int halves = settings.p == 2 ? 1 : 2;
  return chain_rounds(settings.p, k) * (link.alpha + m / (halves * k) * link.beta);
}

}  // namespace

extern const Algorithm broadcast_bidirectional_ring{
    "bidirectional_ring",
    "halves in segments both ways around a ring; needs two ports at each rank",
    Collective::broadcast,
    bidirectional_ring_schedule,
    bidirectional_ring_cost,
    Outflow::two,
    Traits{.segments = true}};

}  // namespace dlscale::collective
