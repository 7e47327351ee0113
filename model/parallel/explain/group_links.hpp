#pragma once
#include <string_view>
#include <vector>

#include "core/parallel/grid.hpp"

namespace dlscale::model::parallel_time {

/// Ranks that exchange messages, as the first group of its kind lies on nodes.
struct GroupLink {
  std::string_view name;  ///< "tensor", "data", "stages", …
  int ranks = 2;          ///< ≥ 2
  parallel::NodeSpread spread = {};
  [[nodiscard]] bool crosses_nodes() const { return spread.nodes > 1; }
};

/// The groups of a plan with two ranks or more, on nodes of `ranks_per_node` ≥ 1 ranks. Experts are
/// those of neighbouring ranks, as their messages are timed. Requires a plan without faults.
std::vector<GroupLink> group_links(const parallel::ParallelPlan& plan, int ranks_per_node);

}  // namespace dlscale::model::parallel_time
