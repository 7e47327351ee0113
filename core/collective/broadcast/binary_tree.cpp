#include <algorithm>
#include <cstddef>
#include <vector>

#include "core/collective/algorithm.hpp"
#include "core/collective/powers.hpp"
#include "core/collective/rounds.hpp"

namespace dlscale::collective {
namespace {

/// Rank i of level l, 2^l - 1 ≤ i < 2^(l+1) - 1, passes the message to i + 2^l and then to i +
/// 2^(l+1). [Open MPI, ompi_coll_base_topo_build_tree() of two children]
Schedule binary_tree_schedule(const Settings& settings) {
  const int p = settings.p;
  const Group group = everyone(p, settings.root);
  std::vector<int> arrival(static_cast<std::size_t>(p));
  Schedule result{p, 1, {}};
  for (int i = 0; i < p; ++i) {
    const int distance = 1 << floor_log2(i + 1);
    for (int child = 1; child <= 2 && i + child * distance < p; ++child) {
      const int to = i + child * distance;
      arrival[to] = arrival[i] + child;
      const auto round = static_cast<std::size_t>(arrival[to]);
      result.rounds.resize(std::max(result.rounds.size(), round));
      result.rounds[round - 1].push_back({group[i], group[to], 0, 1, Transfer::Action::copy});
    }
  }
  return result;
}

/// T = max{ 2 (L-1), L + ⌊lg(p - 2^L + 1)⌋ }(α + m β), L = ⌊lg p⌋. A second child waits for the
/// first, so the last rank is the one whose path has the most second children. It is on the last
/// level or the one before, which is full. [derived from the schedule]
Seconds binary_tree_cost(const Links& links, const Settings& settings, Bytes m) {
  const int p = settings.p;
  if (p == 1) return {};
  const int last = floor_log2(p);
  const int on_last = p - (1 << last) + 1;
  const double rounds = std::max(2 * (last - 1), last + floor_log2(on_last));
  return rounds * (links.inter.alpha + m * links.inter.beta);
}

}  // namespace

extern const Algorithm broadcast_binary_tree{
    "binary_tree",         "the whole message down a binary tree, to one child after the other",
    Collective::broadcast, binary_tree_schedule,
    binary_tree_cost,      Outflow::every_rank};

}  // namespace dlscale::collective
