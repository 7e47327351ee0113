#include "core/collective/all_reduce.hpp"

namespace dlscale::collective {
namespace {

/// Exchanges of the whole message with the rank whose number differs in one bit.
Schedule schedule(int p) {
  const PowerOfTwoGroup group(p);
  Schedule inner{1, {}};
  for (int distance = 1; distance < group.size(); distance *= 2) {
    Round round;
    for (int rank = 0; rank < group.size(); ++rank) {
      round.push_back({rank, rank ^ distance, 0, 1, Transfer::Action::add});
    }
    inner.rounds.push_back(round);
  }
  return group.around(inner);
}

/// T = lg p (α + m β + m γ) for p = 2^k   [Thakur et al. 2005; MODEL 3.1]
/// else (⌊lg p⌋ + 2)(α + m β) + (⌊lg p⌋ + 1) m γ. Fewest messages, whole message in each.
Seconds cost(const Link& link, int p, Bytes m) {
  const auto [alpha, beta, gamma] = link;
  const double lg_p = floor_log2(p);
  if (p == largest_power_of_2(p)) return lg_p * (alpha + m * beta + m * gamma);
  return (lg_p + 2) * (alpha + m * beta) + (lg_p + 1) * m * gamma;
}

}  // namespace

extern const AllReduceAlgorithm recursive_doubling{
    "recursive_doubling", "lg p exchanges of the whole message; fewest messages", schedule, cost,
    Outflow::every_rank};

}  // namespace dlscale::collective
