#include "core/collective/algorithm.hpp"
#include "core/collective/powers.hpp"
#include "core/collective/rounds.hpp"

namespace dlscale::collective {
namespace {

Schedule binomial_schedule(const Settings& settings) {
  const int p = settings.p;
  return {p, 1, backwards(binomial_broadcast(everyone(p, settings.root), {0, 1}))};
}

/// T = ⌈lg p⌉ (α + m β + m γ)   [Thakur et al. 2005]
Seconds binomial_cost(const Links& links, const Settings& settings, Bytes m) {
  const auto [alpha, beta, gamma] = links.inter;
  return ceiling_log2(settings.p) * (alpha + m * beta + m * gamma);
}

}  // namespace

extern const Algorithm reduce_binomial{
    "binomial",         "the whole message up a binomial tree; fewest messages",
    Collective::reduce, binomial_schedule,
    binomial_cost,      Outflow::one};

}  // namespace dlscale::collective
