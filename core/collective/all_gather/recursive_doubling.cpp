#include "core/collective/algorithm.hpp"
#include "core/collective/rounds.hpp"

namespace dlscale::collective {
namespace {

Schedule recursive_doubling_schedule(const Settings& settings) {
  return {settings.p, settings.p, doubling_all_gather(everyone(settings.p))};
}

/// T = lg p α + (p-1)/p m β for p = 2^k   [Thakur et al. 2005]
/// else (⌊lg p⌋ + 2) α + slots/p m β with the slots of doubling_slots.
Seconds recursive_doubling_cost(const Links& links, const Settings& settings, Bytes m) {
  const Link& link = links.inter;
  const double P = settings.p;
  return doubling_rounds(settings.p) * link.alpha + doubling_slots(settings.p) / P * m * link.beta;
}

}  // namespace

extern const Algorithm all_gather_recursive_doubling{
    "recursive_doubling",
    "exchanges of all that was gathered so far; fewest messages if p = 2^k",
    Collective::all_gather,
    recursive_doubling_schedule,
    recursive_doubling_cost,
    Outflow::every_rank};

}  // namespace dlscale::collective
