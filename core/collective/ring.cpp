#include "core/collective/all_reduce.hpp"

namespace dlscale::collective {
namespace {

/// Every rank sends one chunk to its right neighbour; in round s that of s ranks to the left.
Round shift(int p, int s, Transfer::Action action) {
  const int lead = action == Transfer::Action::add ? 0 : 1;  // what it has completed last
  Round round;
  for (int rank = 0; rank < p; ++rank) {
    round.push_back({rank, (rank + 1) % p, (rank - s + lead + p) % p, 1, action});
  }
  return round;
}

/// Reduce-scatter around the ring, then all-gather around the ring.
Schedule schedule(int p) {
  Schedule result{p, {}};
  for (const auto action : {Transfer::Action::add, Transfer::Action::copy}) {
    for (int s = 0; s < p - 1; ++s) result.rounds.push_back(shift(p, s, action));
  }
  return result;
}

/// T = 2 (p-1) α + 2 (p-1)/p m β + (p-1)/p m γ   [Patarasuk & Yuan 2009; MODEL 3.3]
/// Least bytes on the wire of all algorithms, most messages.
Seconds cost(const Link& link, int p, Bytes m) {
  const auto [alpha, beta, gamma] = link;
  const double P = p;
  return 2 * (P - 1) * alpha + 2 * (P - 1) / P * m * beta + (P - 1) / P * m * gamma;
}

}  // namespace

extern const AllReduceAlgorithm ring{
    "ring", "reduce-scatter and all-gather around a ring; least bytes on the wire", schedule, cost,
    Outflow::one_rank};

}  // namespace dlscale::collective
