#include <algorithm>

#include "core/base/error.hpp"
#include "core/collective/algorithm.hpp"

namespace dlscale::collective {
namespace {

/// In round s, each rank sends to the rank s to its right the block for it. The receiver stores it
/// at the position for blocks of the sender in the result. The own block is copied there.
Schedule pairwise_schedule(const Settings& settings) {
  const int p = settings.p;
  EXPECT(p >= 1);
  Schedule result{p, p, Rounds(static_cast<std::size_t>(std::max(1, p - 1)))};
  result.scratch = p;
  result.result = p;
  for (Rank rank = 0; rank < p; ++rank) {
    result.rounds.front().push_back({rank, rank, rank, 1, Transfer::Action::copy, p});
    for (int s = 1; s < p; ++s) {
      const Rank to = (rank + s) % p;
      result.rounds[s - 1].push_back({rank, to, to, 1, Transfer::Action::copy, p + rank - to});
    }
  }
  return result;
}

/// T = (p-1) α + (p-1)/p m β   [Thakur et al. 2005]
/// The paper writes m β, because it leaves the own block out of m.
Seconds pairwise_cost(const Links& links, const Settings& settings, Bytes m) {
  const Link& link = links.inter;
  const double P = settings.p;
  return (P - 1) * link.alpha + (P - 1) / P * m * link.beta;
}

}  // namespace

extern const Algorithm all_to_all_pairwise{"pairwise",
                                           "each rank sends each other its block; least bytes",
                                           Collective::all_to_all,
                                           pairwise_schedule,
                                           pairwise_cost,
                                           Outflow::every_rank};

}  // namespace dlscale::collective
