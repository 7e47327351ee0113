#include "core/collective/algorithm.hpp"
#include "core/collective/rounds.hpp"

namespace dlscale::collective {
namespace {

Schedule chain_schedule(const Settings& settings) {
  const int p = settings.p;
  const int k = settings.segments;
  return {p, k, backwards(chain_broadcast(everyone(p, settings.root), {0, k}))};
}

/// T = (p - 2 + k)(α + m/k β + m/k γ) with k segments   [arXiv:1707.09414, with adding]
Seconds chain_cost(const Links& links, const Settings& settings, Bytes m) {
  const auto [alpha, beta, gamma] = links.inter;
  const int k = settings.segments;
  return chain_rounds(settings.p, k) * (alpha + m / k * beta + m / k * gamma);
}

}  // namespace

extern const Algorithm reduce_chain{"chain",
                                    "segments follow one another along a chain to the root",
                                    Collective::reduce,
                                    chain_schedule,
                                    chain_cost,
                                    Outflow::one,
                                    Traits{.segments = true}};

}  // namespace dlscale::collective
