#include "model/parallel/explain/group_links.hpp"

#include <algorithm>
#include <numeric>

namespace dlscale::model::parallel_time {

std::vector<GroupLink> group_links(const parallel::ParallelPlan& plan, int ranks_per_node) {
  const parallel::Grid grid(plan);
  std::vector<GroupLink> links;
  const auto add = [&](std::string_view name, std::vector<Rank> ranks) {
    if (ranks.size() < 2) return;
    std::ranges::sort(ranks);
    links.push_back(
        {name, static_cast<int>(ranks.size()), parallel::spread_over_nodes(ranks, ranks_per_node)});
  };
  for (const parallel::Axis axis : plan.order) add(parallel::axis_name(axis), grid.group(0, axis));
  std::vector<Rank> experts(static_cast<std::size_t>(plan.experts));
  std::iota(experts.begin(), experts.end(), 0);
  add("experts", std::move(experts));
  return links;
}

}  // namespace dlscale::model::parallel_time
