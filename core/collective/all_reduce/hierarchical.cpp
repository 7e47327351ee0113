#include "core/collective/algorithm.hpp"
#include "core/collective/rounds.hpp"

namespace dlscale::collective {
namespace {

/// For N nodes of g ranks: first a reduce-scatter around rings within the nodes, so that each rank
/// has 1/g of its node's sum. Then an all-reduce of each such part around a ring across the nodes,
/// and an all-gather within the nodes.
Schedule hierarchical_schedule(const Settings& settings) {
  const Nodes nodes(settings);
  const int g = nodes.ranks_on_node();
  const int N = nodes.count();
  Rounds gather_within;
  for (int node = 0; node < N; ++node) {
    gather_within = at_once(gather_within, ring_all_gather(nodes.node(node), {0, N, N}));
  }
  Rounds across;
  for (int place = 0; place < g; ++place) {
    const Rounds gather = ring_all_gather(nodes.place(place), {place * N, 1, 1});
    across = at_once(across, in_turn(backwards(gather), gather));
  }
  return {settings.p, settings.p,
          in_turn(in_turn(backwards(gather_within), across), gather_within)};
}

/// T = 2 (g-1) (α_i + m/g β_i) + (g-1) m/g γ_i
///   + 2 (N-1) (α_e + m/(gN) β_e) + (N-1) m/(gN) γ_e   [Horovod's hierarchical all-reduce]
///
/// If each node has one uplink, its g ranks share it: β_e is then g times that of the link.
Seconds hierarchical_cost(const Links& links, const Settings& settings, Bytes m) {
  const double g = settings.ranks_on_node;
  const double N = settings.p / g;
  const auto [alpha_i, beta_i, gamma_i] = links.intra;
  const auto [alpha_e, beta_e, gamma_e] = links.inter;
  const Bytes part = m / (g * N);
  return 2 * (g - 1) * (alpha_i + m / g * beta_i) + (g - 1) * (m / g * gamma_i) +
         2 * (N - 1) * (alpha_e + part * beta_e) + (N - 1) * (part * gamma_e);
}

}  // namespace

extern const Algorithm all_reduce_hierarchical{"hierarchical",
                                               "rings within nodes and, for each part, across them",
                                               Collective::all_reduce,
                                               hierarchical_schedule,
                                               hierarchical_cost,
                                               Outflow::every_rank,
                                               Traits{.two_levels = true}};

}  // namespace dlscale::collective
