#include "core/parallel/grid.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <set>
#include <vector>

#include "core/parallel/plan_text.hpp"

namespace dlscale::parallel {
namespace {

/// The example of Megatron's parallel_state.py: 16 ranks, tensor 2, pipeline 4, data 2.
TEST(Grid, HasTheGroupsOfMegatron) {
  const Grid grid(parse_plan("data=2,tensor=2,stages=4"));
  EXPECT_EQ(grid.ranks(), 16);
  EXPECT_EQ(grid.group(0, Axis::tensor), (std::vector{0, 1}));
  EXPECT_EQ(grid.group(14, Axis::tensor), (std::vector{14, 15}));
  EXPECT_EQ(grid.group(0, Axis::data), (std::vector{0, 2}));
  EXPECT_EQ(grid.group(5, Axis::data), (std::vector{5, 7}));
  EXPECT_EQ(grid.group(0, Axis::stages), (std::vector{0, 4, 8, 12}));
  EXPECT_EQ(grid.group(3, Axis::stages), (std::vector{3, 7, 11, 15}));
  EXPECT_EQ(grid.group(6, std::array{Axis::stages, Axis::tensor}),
            (std::vector{2, 3, 6, 7, 10, 11, 14, 15}));
}

TEST(Grid, PutsExpertsWithinDataAndContext) {
  const Grid grid(parse_plan("data=4,tensor=2,context=2,experts=4"));
  EXPECT_EQ(grid.expert_group(0), (std::vector{0, 2, 4, 6}));
  EXPECT_EQ(grid.expert_group(11), (std::vector{9, 11, 13, 15}));
  EXPECT_EQ(grid.expert_copies(0), (std::vector{0, 8}));
  EXPECT_EQ(grid.expert_copies(11), (std::vector{3, 11}));
}

ParallelPlan random_grid(std::mt19937& random) {
  const auto up_to = [&](int largest) { return static_cast<int>(random() % largest) + 1; };
  ParallelPlan plan;
  plan.data = up_to(5);
  plan.tensor = up_to(4);
  plan.context = up_to(3);
  plan.branches = up_to(3);
  plan.stages = up_to(4);
  plan.experts = plan.data;
  std::shuffle(plan.order.begin(), plan.order.end(), random);
  return plan;
}

/// Groups along an axis are equally large, cover each rank once, and are those of all members.
TEST(Grid, IsCoveredByGroupsOfEachKind) {
  std::mt19937 random(1);
  for (int i = 0; i < 200; ++i) {
    const ParallelPlan plan = random_grid(random);
    const Grid grid(plan);
    for (const Axis axis : all_axes) {
      for (Rank rank = 0; rank < grid.ranks(); ++rank) {
        EXPECT_EQ(grid.rank(grid.place(rank)), rank);
        const std::vector<Rank> group = grid.group(rank, axis);
        EXPECT_EQ(static_cast<int>(group.size()), ranks_along(axis, plan));
        EXPECT_TRUE(std::ranges::is_sorted(group));
        EXPECT_EQ(std::ranges::count(group, rank), 1);
        EXPECT_EQ(grid.group(group.back(), axis), group);
        EXPECT_EQ(along(axis, grid.place(group.back())), ranks_along(axis, plan) - 1);
      }
    }
  }
}

TEST(Grid, SharesEachExpertAmongItsCopies) {
  std::mt19937 random(2);
  for (int i = 0; i < 200; ++i) {
    const Grid grid(random_grid(random));
    for (Rank rank = 0; rank < grid.ranks(); ++rank) {
      const std::vector<Rank> experts = grid.expert_group(rank);
      const std::vector<Rank> copies = grid.expert_copies(rank);
      std::vector<Rank> both;
      std::ranges::set_intersection(experts, copies, std::back_inserter(both));
      EXPECT_EQ(both, std::vector{rank});
      EXPECT_EQ(experts.size() * copies.size(),
                grid.group(rank, std::array{Axis::data, Axis::context}).size());
    }
  }
}

/// Tensor groups of 8 fill nodes of 8; of 16 they take two; the other axes have one rank a node.
TEST(NodeSpread, CountsRanksOnNodes) {
  const Grid grid(parse_plan("data=4,tensor=8,stages=2"));
  const NodeSpread tensor = spread_over_nodes(grid.group(3, Axis::tensor), 8);
  EXPECT_EQ(tensor.nodes, 1);
  EXPECT_EQ(tensor.most_on_node, 8);
  const NodeSpread data = spread_over_nodes(grid.group(3, Axis::data), 8);
  EXPECT_EQ(data.nodes, 4);
  EXPECT_EQ(data.most_on_node, 1);
  const std::vector<Rank> uneven{0, 1, 2, 4};
  const NodeSpread spread = spread_over_nodes(uneven, 3);
  EXPECT_EQ(spread.nodes, 2);
  EXPECT_EQ(spread.most_on_node, 3);
  EXPECT_EQ(spread.least_on_node, 1);
}

}  // namespace
}  // namespace dlscale::parallel
