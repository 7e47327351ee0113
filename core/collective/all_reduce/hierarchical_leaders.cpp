#include "core/collective/algorithm.hpp"
#include "core/collective/powers.hpp"
#include "core/collective/rounds.hpp"

namespace dlscale::collective {
namespace {

/// For N nodes of g ranks: reduce to the leaders of the nodes along binomial trees, all-reduce
/// around a ring of the leaders, broadcast along the same trees.
Schedule hierarchical_leaders_schedule(const Settings& settings) {
  const Nodes nodes(settings);
  const int N = nodes.count();
  Rounds down;
  for (int node = 0; node < N; ++node) {
    down = at_once(down, binomial_broadcast(nodes.node(node), {0, N}));
  }
  const Rounds gather = ring_all_gather(nodes.place(0), {});
  const Rounds across = in_turn(backwards(gather), gather);
  return {settings.p, N, in_turn(in_turn(backwards(down), across), down)};
}

/// T = ⌈lg g⌉ (2 α_i + m (2 β_i + γ_i))
///   + 2 (N-1) α_e + 2 (N-1)/N m β_e + (N-1)/N m γ_e   [derived]
/// Only one rank of a node sends to others at a time, so the uplink is not shared; the others wait.
Seconds hierarchical_leaders_cost(const Links& links, const Settings& settings, Bytes m) {
  const auto [alpha_i, beta_i, gamma_i] = links.intra;
  const auto [alpha_e, beta_e, gamma_e] = links.inter;
  const int g = settings.ranks_on_node;
  const double N = static_cast<double>(settings.p) / g;
  return ceiling_log2(g) * (2 * alpha_i + m * (2 * beta_i + gamma_i)) + 2 * (N - 1) * alpha_e +
         2 * (N - 1) / N * m * beta_e + (N - 1) / N * m * gamma_e;
}

}  // namespace

extern const Algorithm all_reduce_hierarchical_leaders{
    "hierarchical_leaders",    "trees within nodes to their leaders, and a ring of these",
    Collective::all_reduce,    hierarchical_leaders_schedule,
    hierarchical_leaders_cost, Outflow::one,
    Traits{.two_levels = true}};

}  // namespace dlscale::collective
