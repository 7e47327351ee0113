#include "core/parallel/grid.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "core/base/error.hpp"

namespace dlscale::parallel {
namespace {

std::size_t index(Axis axis) {
  return static_cast<std::size_t>(axis);
}

}  // namespace

Grid::Grid(const ParallelPlan& plan) : order_(plan.order), experts_(plan.experts) {
  std::int64_t ranks = 1;
  for (const Axis axis : order_) {
    EXPECT(strides_[index(axis)] == 0);
    EXPECT(ranks_along(axis, plan) >= 1);
    sizes_[index(axis)] = ranks_along(axis, plan);
    strides_[index(axis)] = static_cast<int>(ranks);
    ranks *= sizes_[index(axis)];
    EXPECT(ranks <= std::numeric_limits<int>::max());
  }
  EXPECT(experts_ >= 1 && std::int64_t{plan.data} * plan.context % experts_ == 0);
  ranks_ = static_cast<int>(ranks);
}

Coordinates Grid::place(Rank rank) const {
  EXPECT(rank >= 0 && rank < ranks_);
  Coordinates place{};
  for (const Axis axis : all_axes) {
    along(axis, place) = rank / strides_[index(axis)] % sizes_[index(axis)];
  }
  return place;
}

Rank Grid::rank(const Coordinates& place) const {
  Rank rank = 0;
  for (const Axis axis : all_axes) {
    EXPECT(along(axis, place) >= 0 && along(axis, place) < sizes_[index(axis)]);
    rank += along(axis, place) * strides_[index(axis)];
  }
  return rank;
}

std::vector<Rank> Grid::group(Rank rank, std::span<const Axis> axes) const {
  const Coordinates own = place(rank);
  Rank first = rank;
  for (const Axis axis : axes) first -= along(axis, own) * strides_[index(axis)];
  std::vector<Rank> ranks{first};
  for (const Axis axis : order_) {
    if (std::ranges::find(axes, axis) == axes.end()) continue;
    const std::size_t before = ranks.size();
    for (int step = 1; step < sizes_[index(axis)]; ++step) {
      for (std::size_t i = 0; i < before; ++i) {
        ranks.push_back(ranks[i] + step * strides_[index(axis)]);
      }
    }
  }
  return ranks;
}

std::vector<Rank> Grid::copies(Rank rank) const {
  constexpr std::array both{Axis::data, Axis::context};
  return group(rank, both);
}

std::vector<Rank> Grid::expert_group(Rank rank) const {
  const std::vector<Rank> all = copies(rank);
  const auto at = std::ranges::find(all, rank) - all.begin();
  const auto first = all.begin() + at / experts_ * experts_;
  return {first, first + experts_};
}

std::vector<Rank> Grid::expert_copies(Rank rank) const {
  const std::vector<Rank> all = copies(rank);
  const auto at = static_cast<std::size_t>(std::ranges::find(all, rank) - all.begin());
  std::vector<Rank> same;
  for (std::size_t i = at % static_cast<std::size_t>(experts_); i < all.size();
       i += static_cast<std::size_t>(experts_)) {
    same.push_back(all[i]);
  }
  return same;
}

NodeSpread spread_over_nodes(std::span<const Rank> group, int ranks_per_node) {
  EXPECT(!group.empty() && ranks_per_node >= 1);
  NodeSpread spread{0, 0, static_cast<int>(group.size())};
  for (std::size_t i = 0; i < group.size();) {
    const int node = group[i] / ranks_per_node;
    int ranks = 0;
    for (; i < group.size() && group[i] / ranks_per_node == node; ++i) ++ranks;
    ++spread.nodes;
    spread.most_on_node = std::max(spread.most_on_node, ranks);
    spread.least_on_node = std::min(spread.least_on_node, ranks);
  }
  return spread;
}

}  // namespace dlscale::parallel
