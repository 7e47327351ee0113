#include <algorithm>
#include <array>
#include <vector>

#include "core/collective/algorithm.hpp"
#include "core/collective/powers.hpp"
#include "core/collective/rounds.hpp"
#include "core/error.hpp"

namespace dlscale::collective {
namespace {

/// The parent of node i > 0 of a binary tree over 0 … p - 1 with root 0, in whose order every
/// second node is a leaf: the lowest bit set of i moves up by one, or falls away if that is beyond
/// p. [NCCL's tree; as the nodes of a binary search tree under node 0]
int parent(int i, int p) {
  const int lowest = i & -i;
  const int up = (i ^ lowest) | (2 * lowest);
  return up < p ? up : i ^ lowest;
}

/// The rank that is node i of a tree. In the second one ranks are mirrored, or moved by one if
/// their number is odd, so that who has children in one tree has none in the other; only rank 0 of
/// an odd number may have one in each.
Rank rank_of(int tree, int i, int p) {
  if (tree == 0) return i;
  return p % 2 == 0 ? p - 1 - i : (i + 1) % p;
}

/// An edge of one of the trees.
struct Edge {
  int tree = 0;
  Rank parent = 0;
  Rank child = 0;
  int parity = -1;  ///< of the rounds in which it is used; -1: not yet known
  int start = 0;    ///< the first of them
};

/// Those that enter a rank before those that leave it: a parent has a higher lowest bit.
std::vector<Edge> edges_of_both_trees(int p) {
  std::vector<Edge> edges;
  for (int tree = 0; tree < 2; ++tree) {
    for (int lowest = largest_power_of_2(p); lowest >= 1; lowest /= 2) {
      for (int i = lowest; i < p; i += 2 * lowest) {
        edges.push_back({tree, rank_of(tree, parent(i, p), p), rank_of(tree, i, p), -1, 0});
      }
    }
  }
  return edges;
}

/// Gives edges that leave one rank, or enter one, different parities: a broadcast along both trees
/// then never has a rank send or receive twice in a round. As no rank has more than two of either
/// kind, such edges form paths and circles, and circles have an even length because leaving and
/// entering alternate.   [Sanders, Speck, Träff 2009]
void give_parities(std::vector<Edge>& edges) {
  for (Edge& first : edges) {
    if (first.parity >= 0) continue;
    first.parity = 0;
    std::vector<const Edge*> to_do{&first};
    while (!to_do.empty()) {
      const Edge& edge = *to_do.back();
      to_do.pop_back();
      for (Edge& other : edges) {
        const bool meets = other.parent == edge.parent || other.child == edge.child;
        if (&other == &edge || !meets) continue;
        EXPECT(other.parity != edge.parity);
        if (other.parity >= 0) continue;
        other.parity = 1 - edge.parity;
        to_do.push_back(&other);
      }
    }
  }
}

/// An edge starts in the first round of its parity after that of the edge which enters its parent.
void give_starts(std::vector<Edge>& edges, int p) {
  std::vector<std::array<int, 2>> ready(static_cast<std::size_t>(p));  // by rank and tree
  for (Edge& edge : edges) {
    const int earliest = ready[edge.parent][edge.tree];
    edge.start = earliest + (earliest % 2 == edge.parity ? 0 : 1);
    ready[edge.child][edge.tree] = edge.start + 1;
  }
}

/// Broadcast of slots [0, k) along the first tree from its root and of [k, 2 k) along the second.
Rounds broadcast(int p, int k) {
  std::vector<Edge> edges = edges_of_both_trees(p);
  give_parities(edges);
  give_starts(edges, p);
  Rounds rounds;
  for (const Edge& edge : edges) {
    const int end = edge.start + 2 * k - 1;
    rounds.resize(std::max(rounds.size(), static_cast<std::size_t>(end)));
    for (int i = 0; i < k; ++i) {
      rounds[edge.start + 2 * i].push_back(
          {edge.parent, edge.child, edge.tree * k + i, 1, Transfer::Action::copy});
    }
  }
  std::erase_if(rounds, [](const Round& round) { return round.empty(); });
  return rounds;
}

Schedule schedule(const Settings& settings) {
  const int k = settings.segments;
  EXPECT(settings.p >= 1 && k >= 1);
  const Rounds down = broadcast(settings.p, k);
  return {settings.p, 2 * k, in_turn(backwards(down), down)};
}

/// T ≤ 2 (2 ⌈lg p⌉ + 2 (k-1)) (α + m β/(2k)) + (2 ⌈lg p⌉ + 2 (k-1)) m γ/(2k) with k segments in
/// each tree   [after Sanders, Speck, Träff 2009]
///
/// It reduces, then broadcasts; in each, a segment takes two rounds a level at most, and the next
/// one follows two rounds later. MODEL 3.5, 2 ⌈lg p⌉ (α + c β) + 2 m β + m γ, counts one round a
/// level and no start-up of the segments that follow; for many of them both tend to 2 m β + m γ.
Seconds cost(const Links& links, const Settings& settings, Bytes m) {
  const auto [alpha, beta, gamma] = links.inter;
  if (settings.p == 1) return {};
  const double k = settings.segments;
  const double rounds = 2.0 * ceiling_log2(settings.p) + 2 * (k - 1);
  const Bytes c = m / (2 * k);
  return 2 * rounds * (alpha + c * beta) + rounds * c * gamma;
}

}  // namespace

extern const Algorithm all_reduce_double_binary_tree{
    "double_binary_tree",
    "halves of the message along two trees, in segments; each rank has children in one of them",
    Collective::all_reduce,
    schedule,
    cost,
    Outflow::every_rank,
    Traits{.segments = true},
    "an upper bound: some levels take one round where two are counted"};

}  // namespace dlscale::collective
