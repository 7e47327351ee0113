#include "core/collective/algorithm.hpp"
#include "core/collective/powers.hpp"
#include "core/collective/rounds.hpp"

namespace dlscale::collective {
namespace {

/// Scatter along a binomial tree, then all-gather by recursive doubling.
Schedule scatter_doubling_schedule(const Settings& settings) {
  const int p = settings.p;
  const Group group = everyone(p, settings.root);
  return {p, p, in_turn(binomial_scatter(group), doubling_all_gather(group))};
}

/// T = 2 lg p α + 2 (p-1)/p m β for p = 2^k   [van de Geijn; Thakur et al. 2005]
/// else, with the slots of doubling_slots (recursive doubling), T = (⌈lg p⌉ + ⌊lg p⌋ + 2) α + (p -
/// 1 + slots)/p m β.
Seconds scatter_doubling_cost(const Links& links, const Settings& settings, Bytes m) {
  const Link& link = links.inter;
  const int p = settings.p;
  const double slots = p - 1 + doubling_slots(p);
  return (ceiling_log2(p) + doubling_rounds(p)) * link.alpha + slots / p * m * link.beta;
}

}  // namespace

extern const Algorithm broadcast_scatter_doubling{
    "scatter_doubling",
    "scatter along a tree, all-gather by doubling (van de Geijn); few messages and few bytes",
    Collective::broadcast,
    scatter_doubling_schedule,
    scatter_doubling_cost,
    Outflow::every_rank};

}  // namespace dlscale::collective
