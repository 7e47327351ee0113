#include "core/collective/algorithm.hpp"
#include "core/collective/rounds.hpp"

namespace dlscale::collective {
namespace {

/// The root sends to one rank after another, through its one port.
Schedule linear_schedule(const Settings& settings) {
  Schedule result{settings.p, 1, {}};
  for (const Rank rank : everyone(settings.p, settings.root)) {
    if (rank == settings.root) continue;
    result.rounds.push_back({{settings.root, rank, 0, 1, Transfer::Action::copy}});
  }
  return result;
}

/// T = (p-1)(α + m β)   [derived]
Seconds linear_cost(const Links& links, const Settings& settings, Bytes m) {
  const Link& link = links.inter;
  return (settings.p - 1) * (link.alpha + m * link.beta);
}

}  // namespace

extern const Algorithm broadcast_linear{
    "linear",    "the root sends to each rank", Collective::broadcast, linear_schedule, linear_cost,
    Outflow::one};

}  // namespace dlscale::collective
