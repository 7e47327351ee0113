#include "core/collective/algorithm.hpp"
#include "core/collective/powers.hpp"
#include "core/collective/rounds.hpp"

namespace dlscale::collective {
namespace {

/// Reduces to one rank along a binomial tree, then broadcasts along the same tree.
Schedule binomial_schedule(const Settings& settings) {
  const Rounds broadcast = binomial_broadcast(everyone(settings.p), {0, 1});
  return {settings.p, 1, in_turn(backwards(broadcast), broadcast)};
}

/// T = 2 ⌈lg p⌉ α + ⌈lg p⌉ m (2 β + γ)   [Thakur et al. 2005]
Seconds binomial_cost(const Links& links, const Settings& settings, Bytes m) {
  const auto [alpha, beta, gamma] = links.inter;
  const double lg_p = ceiling_log2(settings.p);
  return 2 * lg_p * alpha + lg_p * m * (2 * beta + gamma);
}

}  // namespace

extern const Algorithm all_reduce_binomial{"binomial",
                                           "reduce and broadcast along one binomial tree",
                                           Collective::all_reduce,
                                           binomial_schedule,
                                           binomial_cost,
                                           Outflow::one};

}  // namespace dlscale::collective
