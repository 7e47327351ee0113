#include "core/collective/algorithm.hpp"
#include "core/collective/rounds.hpp"

namespace dlscale::collective {
namespace {

/// The ring of the all-gather, reversed: block i collects its terms on its way to rank i.
Schedule ring_schedule(const Settings& settings) {
  return {settings.p, settings.p, backwards(ring_all_gather(everyone(settings.p), {}))};
}

/// T = (p-1) α + (p-1)/p m (β + γ)   [Thakur et al. 2005]
Seconds ring_cost(const Links& links, const Settings& settings, Bytes m) {
  const auto [alpha, beta, gamma] = links.inter;
  const double P = settings.p;
  return (P - 1) * alpha + (P - 1) / P * m * (beta + gamma);
}

}  // namespace

extern const Algorithm reduce_scatter_ring{"ring",
                                           "partial sums move on around a ring",
                                           Collective::reduce_scatter,
                                           ring_schedule,
                                           ring_cost,
                                           Outflow::one};

}  // namespace dlscale::collective
