#include "core/collective/algorithm.hpp"
#include "core/collective/rounds.hpp"

namespace dlscale::collective {
namespace {

/// The all-gather by recursive doubling, reversed.
Schedule recursive_halving_schedule(const Settings& settings) {
  return {settings.p, settings.p, backwards(doubling_all_gather(everyone(settings.p)))};
}

/// T = lg p α + (p-1)/p m (β + γ) for p = 2^k   [Thakur et al. 2005]
/// else (⌊lg p⌋ + 2) α + slots/p m (β + γ) with the slots of doubling_slots. MPICH's comment has a
/// term of wrong dimension here. The folded ranks are in the lower halves.
///
Seconds recursive_halving_cost(const Links& links, const Settings& settings, Bytes m) {
  const auto [alpha, beta, gamma] = links.inter;
  const double P = settings.p;
  return doubling_rounds(settings.p) * alpha + doubling_slots(settings.p) / P * m * (beta + gamma);
}

}  // namespace

extern const Algorithm reduce_scatter_recursive_halving{
    "recursive_halving",        "exchanges of halves, of halves of these, …; fewest messages",
    Collective::reduce_scatter, recursive_halving_schedule,
    recursive_halving_cost,     Outflow::every_rank};

}  // namespace dlscale::collective
