#include "model/parallel/stages/stage_links.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/base/error.hpp"
#include "core/parallel/grid.hpp"
#include "model/sgd_iter/messages/link_estimate.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {
namespace {

using parallel::Axis;

int most_of(const std::map<int, int>& leaving) {
  int most = 0;
  for (const auto& [node, count] : leaving) most = std::max(most, count);
  return most;
}

/// Copies whose messages leave one node at once; 0: none leaves its node.
int leaving_together(const parallel::ParallelPlan& plan, const parallel::Grid& grid, int from,
                     int to, int ranks_per_node) {
  std::map<int, int> leaving;  // by node
  for (int copy = 0; copy < plan.data * plan.context; ++copy) {
    parallel::Coordinates place{};
    along(Axis::data, place) = copy / plan.context;
    along(Axis::context, place) = copy % plan.context;
    along(Axis::stages, place) = from;
    const int node = grid.rank(place) / ranks_per_node;
    along(Axis::stages, place) = to;
    if (grid.rank(place) / ranks_per_node != node) ++leaving[node];
  }
  return most_of(leaving);
}

/// Strips whose messages to the next one leave one node at once.
int strips_leaving(const parallel::ParallelPlan& plan, const parallel::Grid& grid,
                   int ranks_per_node) {
  std::map<int, int> leaving;  // by node
  for (Rank rank = 0; rank < grid.ranks(); ++rank) {
    parallel::Coordinates place = grid.place(rank);
    if (++along(Axis::context, place) == plan.context) continue;
    const int node = rank / ranks_per_node;
    if (grid.rank(place) / ranks_per_node != node) ++leaving[node];
  }
  return most_of(leaving);
}

StageLink known_link(const Machine& machine, const Run& run, LinkKind kind, int sharers) {
  constexpr Bytes usual(1e6);  // at which the line of a fit is read
  const Placement place{run.ranks, run.ranks_per_node};
  const auto link = estimate_link(machine, kind, place, run.schedule, usual, usual);
  if (!link) {
    throw ConfigError(fmt::format(
        "machine {} states no link {}, which messages between stages cross. Measure messages "
        "between two ranks and calibrate, or state the bandwidth.",
        machine.cluster.name, kind == LinkKind::inter ? "between nodes" : "within a node"));
  }
  return {link->fit.alpha.value, sharers * link->fit.beta.value, kind == LinkKind::inter};
}

}  // namespace

StageLink strip_link(const Machine& machine, const Run& run, const parallel::ParallelPlan& plan) {
  EXPECT(plan.context >= 2);
  const int leaving = strips_leaving(plan, parallel::Grid(plan), run.ranks_per_node);
  const LinkKind kind = leaving > 0 ? LinkKind::inter : LinkKind::intra;
  return known_link(machine, run, kind, std::max(leaving, 1));
}

std::vector<StageLink> stage_links(const Machine& machine, const Run& run,
                                   const parallel::ParallelPlan& plan) {
  const parallel::Grid grid(plan);
  std::vector<StageLink> links;
  std::map<int, StageLink> known;  // by the number of copies that leave a node at once
  for (int part = 0; part + 1 < plan.stages * plan.chunks; ++part) {
    const int from = part % plan.stages;
    const int to = (part + 1) % plan.stages;
    if (from == to) {
      links.emplace_back();  // chunks of one stage
      continue;
    }
    const int leaving = leaving_together(plan, grid, from, to, run.ranks_per_node);
    if (!known.contains(leaving)) {
      const LinkKind kind = leaving > 0 ? LinkKind::inter : LinkKind::intra;
      known.emplace(leaving, known_link(machine, run, kind, std::max(leaving, 1)));
    }
    links.push_back(known.at(leaving));
  }
  return links;
}

}  // namespace dlscale::model
