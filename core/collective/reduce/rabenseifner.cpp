#include "core/collective/algorithm.hpp"
#include "core/collective/powers.hpp"
#include "core/collective/rounds.hpp"

namespace dlscale::collective {
namespace {

/// Reduce-scatter by recursive halving, then a gather along a binomial tree.
Schedule rabenseifner_schedule(const Settings& settings) {
  const int p = settings.p;
  const Group group = everyone(p, settings.root);
  const Rounds scatter = backwards(doubling_all_gather(group));
  const Rounds gather = backwards(binomial_scatter(group), Transfer::Action::copy);
  return {p, p, in_turn(scatter, gather)};
}

/// T = 2 lg p α + 2 (p-1)/p m β + (p-1)/p m γ for p = 2^k   [Thakur et al. 2005]
/// else, with the slots of doubling_slots (recursive halving), T = (⌊lg p⌋ + 2 + ⌈lg p⌉) α +
/// slots/p m (β + γ) + (p-1)/p m β.
Seconds rabenseifner_cost(const Links& links, const Settings& settings, Bytes m) {
  const auto [alpha, beta, gamma] = links.inter;
  const int p = settings.p;
  const double P = p;
  return (doubling_rounds(p) + ceiling_log2(p)) * alpha +
         doubling_slots(p) / P * m * (beta + gamma) + (P - 1) / P * m * beta;
}

}  // namespace

extern const Algorithm reduce_rabenseifner{
    "rabenseifner",     "recursive halving, then a gather; few bytes",
    Collective::reduce, rabenseifner_schedule,
    rabenseifner_cost,  Outflow::every_rank};

}  // namespace dlscale::collective
