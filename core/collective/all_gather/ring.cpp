#include "core/collective/algorithm.hpp"
#include "core/collective/rounds.hpp"

namespace dlscale::collective {
namespace {

Schedule ring_schedule(const Settings& settings) {
  return {settings.p, settings.p, ring_all_gather(everyone(settings.p), {})};
}

/// T = (p-1) α + (p-1)/p m β   [Thakur et al. 2005]
Seconds ring_cost(const Links& links, const Settings& settings, Bytes m) {
  const Link& link = links.inter;
  const double P = settings.p;
  return (P - 1) * link.alpha + (P - 1) / P * m * link.beta;
}

}  // namespace

extern const Algorithm all_gather_ring{
    "ring",      "blocks move on around a ring", Collective::all_gather, ring_schedule, ring_cost,
    Outflow::one};

}  // namespace dlscale::collective
