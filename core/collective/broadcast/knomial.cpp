#include <utility>

#include "core/collective/algorithm.hpp"
#include "core/collective/rounds.hpp"

namespace dlscale::collective {
namespace {

/// Open MPI's default. [coll_tuned_bcast_knomial_radix]
constexpr int radix = 4;

/// The largest power of the radix below p, and the number of powers; 0 and 0 for one rank.
struct Levels {
  int distance = 0;
  int count = 0;
};

Levels levels_of(int p) {
  Levels levels;
  for (long long distance = 1; distance < p; distance *= radix) {
    levels = {static_cast<int>(distance), levels.count + 1};
  }
  return levels;
}

/// A rank with the message sends it to radix - 1 others, one after another, then all ranks with the
/// message do the same.
Schedule knomial_schedule(const Settings& settings) {
  const int p = settings.p;
  const Group group = everyone(p, settings.root);
  Schedule result{p, 1, {}};
  for (int distance = levels_of(p).distance; distance >= 1; distance /= radix) {
    for (int child = 1; child < radix; ++child) {
      Round round;
      for (int i = 0; i + child * distance < p; i += radix * distance) {
        round.push_back({group[i], group[i + child * distance], 0, 1, Transfer::Action::copy});
      }
      if (!round.empty()) result.rounds.push_back(std::move(round));
    }
  }
  return result;
}

/// T = ((k-1)(L-1) + ⌈p/k^(L-1)⌉ - 1)(α + m β), with L = ⌈log_k p⌉ and k = 4; for p = k^L it is
/// L (k-1)(α + m β)   [derived; Awan et al. 2017, arXiv:1707.09414, count full levels]
Seconds knomial_cost(const Links& links, const Settings& settings, Bytes m) {
  const int p = settings.p;
  const auto [distance, levels] = levels_of(p);
  if (levels == 0) return {};
  const int first = (p + distance - 1) / distance - 1;
  const double rounds = (radix - 1) * (levels - 1) + first;
  return rounds * (links.inter.alpha + m * links.inter.beta);
}

}  // namespace

extern const Algorithm broadcast_knomial{
    "knomial",
    "the whole message down a tree in which each rank passes it to three others a level",
    Collective::broadcast,
    knomial_schedule,
    knomial_cost,
    Outflow::one};

}  // namespace dlscale::collective
