#include <vector>

#include "core/base/error.hpp"
#include "core/collective/algorithm.hpp"
#include "core/collective/rounds.hpp"

namespace dlscale::collective {
namespace {

/// The ranks, then the switches of each level up to the top one.
std::vector<Group> levels_of(int p, int down_links) {
  EXPECT(down_links >= 2);
  std::vector<Group> levels{everyone(p)};
  Rank next = p;
  do {
    const std::size_t links = static_cast<std::size_t>(down_links);
    Group switches((levels.back().size() + links - 1) / links);
    for (Rank& node : switches) node = next++;
    levels.push_back(switches);
  } while (levels.back().size() > 1);
  return levels;
}

/// Segments go up the tree of switches, each of which adds the data from below, and down again.
/// Segment s takes hop h of 2 × levels in round s + h.
Schedule in_network_schedule(const Settings& settings) {
  const int k = settings.segments;
  EXPECT(k >= 1);
  const std::vector<Group> levels = levels_of(settings.p, settings.down_links);
  const int hops = static_cast<int>(levels.size()) - 1;
  Rounds rounds(static_cast<std::size_t>(2 * hops - 1 + k));
  for (int hop = 0; hop < hops; ++hop) {
    for (std::size_t i = 0; i < levels[hop].size(); ++i) {
      const std::size_t link = i % settings.down_links;
      const Rank below = levels[hop][i];
      const Rank above = levels[hop + 1][i / settings.down_links];
      const auto action = link == 0 ? Transfer::Action::copy : Transfer::Action::add;
      for (int s = 0; s < k; ++s) {
        rounds[s + hop].push_back({below, above, s, 1, action});
        rounds[s + 2 * hops - 1 - hop].push_back({above, below, s, 1, Transfer::Action::copy});
      }
    }
  }
  Schedule result{settings.p, k, rounds};
  for (std::size_t level = 1; level < levels.size(); ++level) {
    result.helpers += static_cast<int>(levels[level].size());
  }
  result.helper_ports = settings.down_links + 1;
  return result;
}

/// T = (2 h - 1 + k)(α + m/k β) + (h - 1 + k) m/k γ with k segments over h = ⌈log_r p⌉ levels of
/// switches (1 for p = 1), r links down each   [derived, of SHARP: Graham et al. 2016]
/// α is that of a hop, γ that of the switch: 0 if it adds at the rate of its links, and for p = 1.
/// One segment gives the latency 2 h (α + m β) of small messages, many give the m β of streams.
Seconds in_network_cost(const Links& links, const Settings& settings, Bytes m) {
  const auto [alpha, beta, gamma] = links.inter;
  const double k = settings.segments;
  int h = 0;
  for (int nodes = settings.p; nodes > 1 || h == 0; ++h) {
    nodes = (nodes + settings.down_links - 1) / settings.down_links;
  }
  const double adding = settings.p == 1 ? 0 : h - 1 + k;
  return (2 * h - 1 + k) * (alpha + m / k * beta) + adding * (m / k * gamma);
}

}  // namespace

extern const Algorithm all_reduce_in_network{
    "in_network",
    "switches add on the way up a tree and hand the sum down (SHARP)",
    Collective::all_reduce,
    in_network_schedule,
    in_network_cost,
    Outflow::every_rank,
    Traits{.segments = true, .switches = true}};

}  // namespace dlscale::collective
