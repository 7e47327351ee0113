#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "core/base/error.hpp"
#include "core/collective/algorithm.hpp"
#include "core/collective/double_tree.hpp"
#include "core/collective/powers.hpp"
#include "core/collective/rounds.hpp"

namespace dlscale::collective {
namespace {

/// First round of each edge: the first round of its parity after that of the edge into its parent.
std::vector<int> starts_of(const std::vector<TreeEdge>& edges, int p) {
  std::vector<std::array<int, 2>> ready(static_cast<std::size_t>(p));  // by rank and tree
  std::vector<int> starts;
  for (const TreeEdge& edge : edges) {
    const int earliest = ready[edge.parent][edge.tree];
    starts.push_back(earliest + (earliest % 2 == edge.parity ? 0 : 1));
    ready[edge.child][edge.tree] = starts.back() + 1;
  }
  return starts;
}

/// Broadcast of slots [0, k) along the first tree from its root and of [k, 2 k) along the second.
Rounds broadcast(int p, int k) {
  const std::vector<TreeEdge> edges = double_tree_edges(p);
  const std::vector<int> starts = starts_of(edges, p);
  Rounds rounds;
  for (std::size_t at = 0; at < edges.size(); ++at) {
    const TreeEdge& edge = edges[at];
    const int end = starts[at] + 2 * k - 1;
    rounds.resize(std::max(rounds.size(), static_cast<std::size_t>(end)));
    for (int i = 0; i < k; ++i) {
      rounds[starts[at] + 2 * i].push_back(
          {edge.parent, edge.child, edge.tree * k + i, 1, Transfer::Action::copy});
    }
  }
  std::erase_if(rounds, [](const Round& round) { return round.empty(); });
  return rounds;
}

Schedule double_binary_tree_schedule(const Settings& settings) {
  const int k = settings.segments;
  EXPECT(settings.p >= 1 && k >= 1);
  const Rounds down = broadcast(settings.p, k);
  return {settings.p, 2 * k, in_turn(backwards(down), down)};
}

/// T ≤ 2 (2 ⌈lg p⌉ + 2 (k-1)) (α + m β/(2k)) + (2 ⌈lg p⌉ + 2 (k-1)) m γ/(2k) with k segments in
/// each tree   [after Sanders, Speck, Träff 2009]
///
/// It reduces, then broadcasts. In each phase a segment takes at most two rounds per level, and the
/// next one follows two rounds later. The usual 2 ⌈lg p⌉ (α + c β) + 2 m β + m γ counts one round
/// per level and no start-up of later segments; for many segments both tend to 2 m β + m γ.
Seconds double_binary_tree_cost(const Links& links, const Settings& settings, Bytes m) {
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
    double_binary_tree_schedule,
    double_binary_tree_cost,
    Outflow::every_rank,
    Traits{.segments = true},
    "an upper bound: some levels take one round where two are counted"};

}  // namespace dlscale::collective
