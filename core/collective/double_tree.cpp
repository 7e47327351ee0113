#include "core/collective/double_tree.hpp"

#include <array>
#include <cstddef>
#include <vector>

#include "core/base/error.hpp"
#include "core/collective/powers.hpp"

namespace dlscale::collective {
namespace {

constexpr int unknown = -1;

/// The parent of node i > 0 of a binary tree over 0 … p - 1 with root 0, in whose order every
/// second node is a leaf. The lowest set bit of i moves up by one, or is cleared if that exceeds p.
/// [NCCL's tree; as the nodes of a binary search tree under node 0]
int parent(int i, int p) {
  const int lowest = i & -i;
  const int up = (i ^ lowest) | (2 * lowest);
  return up < p ? up : i ^ lowest;
}

/// The rank of node i of a tree. In the second tree ranks are mirrored, or shifted by one if their
/// number is odd. So a rank with children in one tree has none in the other; only rank 0 of an odd
/// number may have one in each.
Rank rank_of(int tree, int i, int p) {
  if (tree == 0) return i;
  return p % 2 == 0 ? p - 1 - i : (i + 1) % p;
}

/// The edges without parities. A parent has a higher lowest bit than its children.
std::vector<TreeEdge> edges_without_parities(int p) {
  std::vector<TreeEdge> edges;
  for (int tree = 0; tree < 2; ++tree) {
    for (int lowest = largest_power_of_2(p); lowest >= 1; lowest /= 2) {
      for (int i = lowest; i < p; i += 2 * lowest) {
        edges.push_back({tree, rank_of(tree, parent(i, p), p), rank_of(tree, i, p), unknown});
      }
    }
  }
  return edges;
}

/// By rank, the edges that leave or enter it. There are at most two of each, as a rank has at most
/// two children in both trees together, and one parent in each.
class EdgesOfRanks {
 public:
  explicit EdgesOfRanks(int p) : edges_(static_cast<std::size_t>(p), {unknown, unknown}) {}
  void add(Rank rank, int edge) {
    auto& [first, second] = edges_[static_cast<std::size_t>(rank)];
    EXPECT(first == unknown || second == unknown);
    (first == unknown ? first : second) = edge;
  }
  /// The other edge at the rank; `unknown` if there is none.
  [[nodiscard]] int other(Rank rank, int edge) const {
    const auto& [first, second] = edges_[static_cast<std::size_t>(rank)];
    return first == edge ? second : first;
  }

 private:
  std::vector<std::array<int, 2>> edges_;
};

/// Assigns alternating parities. Adjacent edges form paths and cycles, and cycles have even length
/// because leaving and entering alternate.   [Sanders, Speck, Träff 2009]
void give_parities(std::vector<TreeEdge>& edges, int p) {
  EdgesOfRanks leaving(p);
  EdgesOfRanks entering(p);
  const int count = static_cast<int>(edges.size());
  for (int edge = 0; edge < count; ++edge) {
    leaving.add(edges[edge].parent, edge);
    entering.add(edges[edge].child, edge);
  }
  for (int first = 0; first < count; ++first) {
    if (edges[first].parity != unknown) continue;
    edges[first].parity = 0;
    std::vector<int> to_do{first};
    while (!to_do.empty()) {
      const int edge = to_do.back();
      to_do.pop_back();
      const auto [tree, parent, child, parity] = edges[edge];
      for (const int other : {leaving.other(parent, edge), entering.other(child, edge)}) {
        if (other == unknown) continue;
        EXPECT(edges[other].parity != parity);
        if (edges[other].parity != unknown) continue;
        edges[other].parity = 1 - parity;
        to_do.push_back(other);
      }
    }
  }
}

}  // namespace

std::vector<TreeEdge> double_tree_edges(int p) {
  EXPECT(p >= 1);
  std::vector<TreeEdge> edges = edges_without_parities(p);
  give_parities(edges, p);
  return edges;
}

}  // namespace dlscale::collective
