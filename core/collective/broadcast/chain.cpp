#include "core/collective/algorithm.hpp"
#include "core/collective/rounds.hpp"

namespace dlscale::collective {
namespace {

Schedule chain_schedule(const Settings& settings) {
  const int k = settings.segments;
  return {settings.p, k, chain_broadcast(everyone(settings.p, settings.root), {0, k})};
}

/// T = (p - 2 + k)(α + m/k β) with k segments   [arXiv:1707.09414; the best k:
/// core/collective/selection/selection.hpp]
Seconds chain_cost(const Links& links, const Settings& settings, Bytes m) {
  const Link& link = links.inter;
  const int k = settings.segments;
  return chain_rounds(settings.p, k) * (link.alpha + m / k * link.beta);
}

}  // namespace

extern const Algorithm broadcast_chain{"chain",
                                       "segments follow one another along a chain",
                                       Collective::broadcast,
                                       chain_schedule,
                                       chain_cost,
                                       Outflow::one,
                                       Traits{.segments = true}};

}  // namespace dlscale::collective
