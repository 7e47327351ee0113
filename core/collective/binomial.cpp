#include "core/collective/all_reduce.hpp"

namespace dlscale::collective {
namespace {

/// Ranks at odd multiples of `distance` send to the even multiple below.
Round to_parent(int p, int distance) {
  Round round;
  for (int rank = distance; rank < p; rank += 2 * distance) {
    round.push_back({rank, rank - distance, 0, 1, Transfer::Action::add});
  }
  return round;
}

Round to_child(int p, int distance) {
  Round round;
  for (int rank = distance; rank < p; rank += 2 * distance) {
    round.push_back({rank - distance, rank, 0, 1, Transfer::Action::copy});
  }
  return round;
}

/// Reduce to rank 0 along a binomial tree, then broadcast along the same tree.
Schedule schedule(int p) {
  Schedule result{1, {}};
  const int top = p == 1 ? 0 : 1 << (ceiling_log2(p) - 1);
  for (int d = 1; d <= top; d *= 2) result.rounds.push_back(to_parent(p, d));
  for (int d = top; d >= 1; d /= 2) result.rounds.push_back(to_child(p, d));
  return result;
}

/// T = 2 ⌈lg p⌉ α + ⌈lg p⌉ m (2 β + γ)   [Thakur et al. 2005; MODEL 3.4]
Seconds cost(const Link& link, int p, Bytes m) {
  const auto [alpha, beta, gamma] = link;
  const double lg_p = ceiling_log2(p);
  return 2 * lg_p * alpha + lg_p * m * (2 * beta + gamma);
}

}  // namespace

extern const AllReduceAlgorithm binomial{"binomial", "reduce and broadcast along one binomial tree",
                                         schedule, cost, Outflow::one_rank};

}  // namespace dlscale::collective
