#include "core/collective/algorithm.hpp"
#include "core/collective/powers.hpp"
#include "core/collective/rounds.hpp"

namespace dlscale::collective {
namespace {

/// Chains within the nodes to their leaders, then a binomial tree of the leaders to the root.
Schedule chain_binomial_schedule(const Settings& settings) {
  const Nodes nodes(settings);
  const Slots all{0, settings.segments};
  const Rounds across = backwards(binomial_broadcast(nodes.place(0), all));
  return {settings.p, all.count, in_turn(backwards(chains_within(nodes, all)), across)};
}

/// T = (g - 2 + k)(α_i + m/k (β_i + γ_i)) + ⌈lg N⌉ (α_e + m (β_e + γ_e)) for N nodes of g ranks, k
/// segments; a level of one costs nothing   [S-Caffe's CB]
Seconds chain_binomial_cost(const Links& links, const Settings& settings, Bytes m) {
  const auto [alpha_i, beta_i, gamma_i] = links.intra;
  const auto [alpha_e, beta_e, gamma_e] = links.inter;
  const int k = settings.segments;
  const int g = settings.ranks_on_node;
  return chain_rounds(g, k) * (alpha_i + m / k * (beta_i + gamma_i)) +
         ceiling_log2(settings.p / g) * (alpha_e + m * (beta_e + gamma_e));
}

}  // namespace

extern const Algorithm reduce_chain_binomial{
    "chain_binomial",
    "chains within nodes, then a binomial tree of their leaders (S-Caffe's CB)",
    Collective::reduce,
    chain_binomial_schedule,
    chain_binomial_cost,
    Outflow::one,
    Traits{.segments = true, .two_levels = true}};

}  // namespace dlscale::collective
