#include "core/collective/algorithm.hpp"
#include "core/collective/rounds.hpp"

namespace dlscale::collective {
namespace {

/// Chains within the nodes to their leaders, then a chain of the leaders to the root.
Schedule chunked_chain_schedule(const Settings& settings) {
  const Nodes nodes(settings);
  const Slots all{0, settings.segments};
  const Rounds across = backwards(chain_broadcast(nodes.place(0), all));
  return {settings.p, all.count, in_turn(backwards(chains_within(nodes, all)), across)};
}

/// T = (g - 2 + k)(α_i + m/k (β_i + γ_i)) + (N - 2 + k)(α_e + m/k (β_e + γ_e)) for N nodes of g
/// ranks, k segments; a level of one costs nothing   [S-Caffe's CC]
Seconds chunked_chain_cost(const Links& links, const Settings& settings, Bytes m) {
  const auto [alpha_i, beta_i, gamma_i] = links.intra;
  const auto [alpha_e, beta_e, gamma_e] = links.inter;
  const int k = settings.segments;
  const int g = settings.ranks_on_node;
  return chain_rounds(g, k) * (alpha_i + m / k * (beta_i + gamma_i)) +
         chain_rounds(settings.p / g, k) * (alpha_e + m / k * (beta_e + gamma_e));
}

}  // namespace

extern const Algorithm reduce_chunked_chain{"chunked_chain",
                                            "chains within nodes, then a chain of their leaders "
                                            "(S-Caffe's CC)",
                                            Collective::reduce,
                                            chunked_chain_schedule,
                                            chunked_chain_cost,
                                            Outflow::one,
                                            Traits{.segments = true, .two_levels = true}};

}  // namespace dlscale::collective
