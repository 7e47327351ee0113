#include "core/collective/algorithm.hpp"
#include "core/collective/powers.hpp"
#include "core/collective/rounds.hpp"

namespace dlscale::collective {
namespace {

Schedule binomial_schedule(const Settings& settings) {
  const int p = settings.p;
  return {p, 1, binomial_broadcast(everyone(p, settings.root), {0, 1})};
}

/// T = ⌈lg p⌉ (α + m β)   [Thakur et al. 2005]
Seconds binomial_cost(const Links& links, const Settings& settings, Bytes m) {
  const Link& link = links.inter;
  return ceiling_log2(settings.p) * (link.alpha + m * link.beta);
}

}  // namespace

extern const Algorithm broadcast_binomial{"binomial",
                                          "the whole message down a binomial tree; fewest messages",
                                          Collective::broadcast,
                                          binomial_schedule,
                                          binomial_cost,
                                          Outflow::one};

}  // namespace dlscale::collective
