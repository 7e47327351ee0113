#include "core/collective/algorithm.hpp"
#include "core/collective/rounds.hpp"

namespace dlscale::collective {
namespace {

/// A chain of the leaders of the nodes, then chains within the nodes.
Schedule hierarchical_schedule(const Settings& settings) {
  const Nodes nodes(settings);
  const Slots all{0, settings.segments};
  return {settings.p, all.count,
          in_turn(chain_broadcast(nodes.place(0), all), chains_within(nodes, all))};
}

/// T = (N - 2 + k)(α_e + m/k β_e) + (g - 2 + k)(α_i + m/k β_i) for N nodes of g ranks, k segments;
/// a level of one costs nothing   [MPI between nodes, NCCL within: Awan et al. 2016].
/// The levels follow one another: whether a leader could feed both at once depends on its ports.
Seconds hierarchical_cost(const Links& links, const Settings& settings, Bytes m) {
  const auto& [inter, intra] = links;
  const int k = settings.segments;
  const int g = settings.ranks_on_node;
  return chain_rounds(settings.p / g, k) * (inter.alpha + m / k * inter.beta) +
         chain_rounds(g, k) * (intra.alpha + m / k * intra.beta);
}

}  // namespace

extern const Algorithm broadcast_hierarchical{
    "hierarchical",
    "a chain of the leaders of the nodes, then chains within nodes (as MPI + NCCL)",
    Collective::broadcast,
    hierarchical_schedule,
    hierarchical_cost,
    Outflow::one,
    Traits{.segments = true, .two_levels = true}};

}  // namespace dlscale::collective
