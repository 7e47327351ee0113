#include "core/collective/algorithm.hpp"
#include "core/collective/powers.hpp"
#include "core/collective/rounds.hpp"

namespace dlscale::collective {
namespace {

/// Scatter along a binomial tree, then all-gather around a ring.
Schedule scatter_ring_schedule(const Settings& settings) {
  const int p = settings.p;
  const Group group = everyone(p, settings.root);
  return {p, p, in_turn(binomial_scatter(group), ring_all_gather(group, {}))};
}

/// T = (⌈lg p⌉ + p - 1) α + 2 (p-1)/p m β   [van de Geijn; Thakur et al. 2005]
Seconds scatter_ring_cost(const Links& links, const Settings& settings, Bytes m) {
  const Link& link = links.inter;
  const double P = settings.p;
  return (ceiling_log2(settings.p) + P - 1) * link.alpha + 2 * (P - 1) / P * m * link.beta;
}

}  // namespace

extern const Algorithm broadcast_scatter_ring{
    "scatter_ring",
    "scatter along a tree, all-gather around a ring (van de Geijn); few bytes",
    Collective::broadcast,
    scatter_ring_schedule,
    scatter_ring_cost,
    Outflow::one};

}  // namespace dlscale::collective
