#include "core/collective/all_reduce.hpp"

namespace dlscale::collective {
namespace {

/// Exchange of blocks of `count` chunks with the rank at that distance: adding, the peer's block
/// goes out; copying, the own one.
Round exchange(int ranks, int count, Transfer::Action action) {
  Round round;
  for (int rank = 0; rank < ranks; ++rank) {
    const int peer = rank ^ count;
    const int owner = action == Transfer::Action::add ? peer : rank;
    round.push_back({rank, peer, owner & ~(count - 1), count, action});
  }
  return round;
}

/// Reduce-scatter by recursive halving, all-gather by recursive doubling.
Schedule schedule(int p) {
  const PowerOfTwoGroup group(p);
  Schedule inner{group.size(), {}};
  for (int count = group.size() / 2; count >= 1; count /= 2) {
    inner.rounds.push_back(exchange(group.size(), count, Transfer::Action::add));
  }
  for (int count = 1; count < group.size(); count *= 2) {
    inner.rounds.push_back(exchange(group.size(), count, Transfer::Action::copy));
  }
  return group.around(inner);
}

/// T = 2 lg p α + 2 (p-1)/p m β + (p-1)/p m γ for p = 2^k   [Thakur et al. 2005; MODEL 3.2]
/// else, with p' = 2^⌊lg p⌋ ranks taking part,
/// T = (2 lg p' + 2) α + (2 (p'-1)/p' + 2) m β + ((p'-1)/p' + 1) m γ.
/// The comment in MPICH from which MODEL 3.2 is taken writes p for p' in the last two terms, which
/// is up to 1/p' of m (2 β + γ) more than the algorithm sends.
Seconds cost(const Link& link, int p, Bytes m) {
  const auto [alpha, beta, gamma] = link;
  const double P = largest_power_of_2(p);
  const double folds = p == largest_power_of_2(p) ? 0 : 1;
  const double share = (P - 1) / P;
  return (2 * floor_log2(p) + 2 * folds) * alpha + 2 * (share + folds) * m * beta +
         (share + folds) * m * gamma;
}

}  // namespace

extern const AllReduceAlgorithm rabenseifner{
    "rabenseifner", "recursive halving, then doubling; few messages and few bytes", schedule, cost,
    Outflow::every_rank};

}  // namespace dlscale::collective
