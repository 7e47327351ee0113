#include <algorithm>

#include "core/base/error.hpp"
#include "core/collective/algorithm.hpp"
#include "core/collective/powers.hpp"

namespace dlscale::collective {
namespace {

/// At distances d = 1, 2, 4, …, rank r sends the blocks r … r + d - 1 that it has to rank r - d. In
/// the last round it sends only those that rank r - d lacks. Blocks are stored at their final
/// positions from the start, so none is moved at the end.
Schedule bruck_schedule(const Settings& settings) {
  const int p = settings.p;
  EXPECT(p >= 1);
  Schedule result{p, p, {}};
  for (int distance = 1; distance < p; distance *= 2) {
    const int count = std::min(distance, p - distance);
    Round round;
    for (Rank rank = 0; rank < p; ++rank) {
      const Rank to = (rank - distance + p) % p;
      const int before_end = std::min(count, p - rank);
      round.push_back({rank, to, rank, before_end, Transfer::Action::copy});
      if (count > before_end) {
        round.push_back({rank, to, 0, count - before_end, Transfer::Action::copy});
      }
    }
    result.rounds.push_back(round);
  }
  return result;
}

/// T = ⌈lg p⌉ α + (p-1)/p m β   [Bruck et al. 1997]
Seconds bruck_cost(const Links& links, const Settings& settings, Bytes m) {
  const Link& link = links.inter;
  const double P = settings.p;
  return ceiling_log2(settings.p) * link.alpha + (P - 1) / P * m * link.beta;
}

}  // namespace

extern const Algorithm all_gather_bruck{
    "bruck",
    "blocks to ranks at distances 1, 2, 4, …; fewest messages for any p",
    Collective::all_gather,
    bruck_schedule,
    bruck_cost,
    Outflow::every_rank};

}  // namespace dlscale::collective
