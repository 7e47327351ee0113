#pragma once
#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "core/base/ids.hpp"
#include "core/parallel/plan.hpp"

namespace dlscale::parallel {

/// Place of a rank along each axis, by all_axes: 0 … ranks along it - 1.
using Coordinates = std::array<int, all_axes.size()>;
constexpr int& along(Axis axis, Coordinates& place) {
  return place[static_cast<std::size_t>(axis)];
}
constexpr int along(Axis axis, const Coordinates& place) {
  return place[static_cast<std::size_t>(axis)];
}

/// The ranks of a plan as a grid. Numbers count along the first axis of the plan's order, then
/// along the second, and so on. Arguments out of range are the caller's bug (EXPECT).
class Grid {
 public:
  /// Requires sizes ≥ 1, fewer than 2^31 ranks, and an order that names each axis once.
  explicit Grid(const ParallelPlan& plan);

  [[nodiscard]] int ranks() const { return ranks_; }
  [[nodiscard]] Coordinates place(Rank rank) const;
  [[nodiscard]] Rank rank(const Coordinates& place) const;

  /// The ranks that differ from `rank` only along `axes` (each at most once), and itself, in the
  /// order of their numbers.
  [[nodiscard]] std::vector<Rank> group(Rank rank, std::span<const Axis> axes) const;
  [[nodiscard]] std::vector<Rank> group(Rank rank, Axis axis) const {
    return group(rank, std::span(&axis, 1));
  }

  /// The ranks that together hold all experts: neighbours in the group along data and context.
  [[nodiscard]] std::vector<Rank> expert_group(Rank rank) const;
  /// The ranks along data and context that hold the same experts as `rank`, and itself.
  [[nodiscard]] std::vector<Rank> expert_copies(Rank rank) const;

 private:
  [[nodiscard]] std::vector<Rank> copies(Rank rank) const;
  std::array<int, all_axes.size()> sizes_{};
  std::array<int, all_axes.size()> strides_{};
  AxisOrder order_;
  int experts_;
  int ranks_ = 1;
};

/// How a group lies on nodes of `ranks_per_node` ≥ 1 ranks, which are numbered node by node. Its
/// messages between ranks of a node take the links within it.
struct NodeSpread {
  int nodes = 0;          ///< those with a rank of the group
  int most_on_node = 0;   ///< ranks of the group on the node with most of them
  int least_on_node = 0;  ///< on that with fewest, of these nodes
};
/// Requires a group in the order of rank numbers, not empty.
NodeSpread spread_over_nodes(std::span<const Rank> group, int ranks_per_node);

}  // namespace dlscale::parallel
