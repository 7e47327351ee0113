#include "core/base/error.hpp"
#include "core/collective/algorithm.hpp"

namespace dlscale::collective {
namespace {

/// In round s, each rank sends the block of the rank s to its right to that rank.
Schedule pairwise_schedule(const Settings& settings) {
  const int p = settings.p;
  EXPECT(p >= 1);
  Schedule result{p, p, {}};
  for (int s = 1; s < p; ++s) {
    Round round;
    for (Rank rank = 0; rank < p; ++rank) {
      const Rank to = (rank + s) % p;
      round.push_back({rank, to, to, 1, Transfer::Action::add});
    }
    result.rounds.push_back(round);
  }
  return result;
}

/// T = (p-1) α + (p-1)/p m (β + γ)   [Thakur et al. 2005]
Seconds pairwise_cost(const Links& links, const Settings& settings, Bytes m) {
  const auto [alpha, beta, gamma] = links.inter;
  const double P = settings.p;
  return (P - 1) * alpha + (P - 1) / P * m * (beta + gamma);
}

}  // namespace

extern const Algorithm reduce_scatter_pairwise{"pairwise",
                                               "each rank sends each other its block",
                                               Collective::reduce_scatter,
                                               pairwise_schedule,
                                               pairwise_cost,
                                               Outflow::every_rank};

}  // namespace dlscale::collective
