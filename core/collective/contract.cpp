#include "core/collective/contract.hpp"

#include "core/base/error.hpp"

namespace dlscale::collective {
namespace {

Slots block(const Schedule& schedule, Rank rank) {
  EXPECT(schedule.chunks % schedule.ranks == 0);
  const int slots = schedule.chunks / schedule.ranks;
  return {rank * slots, slots};
}

}  // namespace

Slots input(Collective collective, const Schedule& schedule, Rank root, Rank rank) {
  EXPECT(rank >= 0 && rank < schedule.ranks);
  if (collective == Collective::all_gather) return block(schedule, rank);
  if (collective == Collective::broadcast && rank != root) return {};
  return {0, schedule.chunks};
}

Slots output(Collective collective, const Schedule& schedule, Rank root, Rank rank) {
  EXPECT(rank >= 0 && rank < schedule.ranks);
  if (collective == Collective::reduce && rank != root) return {};
  if (collective != Collective::reduce_scatter) return {schedule.result, schedule.chunks};
  const auto [first, count] = block(schedule, rank);
  return {schedule.result + first, count};
}

}  // namespace dlscale::collective
