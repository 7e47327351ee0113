#include "core/collective/algorithm.hpp"
#include "core/collective/powers.hpp"

namespace dlscale::collective {
namespace {

/// Exchanges the whole message with the rank whose number differs in one bit.
Schedule recursive_doubling_schedule(const Settings& settings) {
  const PowerOfTwoGroup group(settings.p);
  Schedule inner;
  for (int distance = 1; distance < group.size(); distance *= 2) {
    Round round;
    for (int rank = 0; rank < group.size(); ++rank) {
      round.push_back({rank, rank ^ distance, 0, 1, Transfer::Action::add});
    }
    inner.rounds.push_back(round);
  }
  return group.around(inner);
}

/// T = lg p (α + m β + m γ) for p = 2^k   [Thakur et al. 2005]
/// else (⌊lg p⌋ + 2)(α + m β) + (⌊lg p⌋ + 1) m γ. Fewest messages; each has the whole size.
Seconds recursive_doubling_cost(const Links& links, const Settings& settings, Bytes m) {
  const auto [alpha, beta, gamma] = links.inter;
  const double lg_p = floor_log2(settings.p);
  if (settings.p == largest_power_of_2(settings.p)) {
    return lg_p * (alpha + m * beta + m * gamma);
  }
  return (lg_p + 2) * (alpha + m * beta) + (lg_p + 1) * m * gamma;
}

}  // namespace

extern const Algorithm all_reduce_recursive_doubling{
    "recursive_doubling",    "lg p exchanges of the whole message; fewest messages",
    Collective::all_reduce,  recursive_doubling_schedule,
    recursive_doubling_cost, Outflow::every_rank};

}  // namespace dlscale::collective
