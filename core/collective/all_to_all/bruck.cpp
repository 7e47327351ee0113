#include <algorithm>
#include <bit>

#include "core/base/error.hpp"
#include "core/collective/algorithm.hpp"
#include "core/collective/powers.hpp"

namespace dlscale::collective {
namespace {

/// A block that must move j ranks to the right takes a step of d for each bit d of j; all blocks
/// with that bit move together. At rank r on its way it is stored in the slot for the block of rank
/// r - j. No other block uses that slot then, and at the end it is the block's own slot. So no
/// block is moved before or after the steps. The own block is copied.
Schedule bruck_schedule(const Settings& settings) {
  const int p = settings.p;
  EXPECT(p >= 1);
  Schedule result{p, p, Rounds(static_cast<std::size_t>(std::max(1, ceiling_log2(p))))};
  result.scratch = p;
  result.result = p;
  const auto waits_in = [p](Rank rank, int j) { return p + (rank - j + p) % p; };
  for (Rank rank = 0; rank < p; ++rank) {
    result.rounds.front().push_back({rank, rank, rank, 1, Transfer::Action::copy, p});
    for (int j = 1; j < p; ++j) {
      for (int bit = 0; j >> bit != 0; ++bit) {
        const int d = 1 << bit;
        if ((j & d) == 0) continue;
        const bool moved = (j & (d - 1)) != 0;
        const Rank to = (rank + d) % p;
        const int slot = moved ? waits_in(rank, j) : (rank + j) % p;
        result.rounds[bit].push_back(
            {rank, to, slot, 1, Transfer::Action::copy, waits_in(to, j) - slot});
      }
    }
  }
  return result;
}

/// Σ of the bits set in 1 … p - 1: the number of blocks that each rank sends.
int blocks_sent(int p) {
  int blocks = 0;
  for (int j = 1; j < p; ++j) blocks += std::popcount(static_cast<unsigned>(j));
  return blocks;
}

/// T = lg p α + m/2 lg p β for p = 2^k   [Bruck et al. 1997]
/// else ⌈lg p⌉ α + m/p β Σ_{j < p} (bits set in j).
Seconds bruck_cost(const Links& links, const Settings& settings, Bytes m) {
  const Link& link = links.inter;
  return ceiling_log2(settings.p) * link.alpha +
         blocks_sent(settings.p) * (m / settings.p * link.beta);
}

}  // namespace

extern const Algorithm all_to_all_bruck{"bruck",
                                        "blocks by steps of 1, 2, 4, … ranks; fewest messages",
                                        Collective::all_to_all,
                                        bruck_schedule,
                                        bruck_cost,
                                        Outflow::every_rank};

}  // namespace dlscale::collective
