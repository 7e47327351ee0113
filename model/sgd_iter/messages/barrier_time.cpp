#include "model/sgd_iter/messages/barrier_time.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

#include "core/collective/powers.hpp"
#include "model/sgd_iter/messages/link_estimate.hpp"
#include "model/sgd_iter/messages/message_time.hpp"
#include "model/sgd_iter/messages/pair_time.hpp"

namespace dlscale::model {
namespace {

/// A schedule whose ranks spin.
constexpr Schedule spinning = Schedule::sequential;

std::optional<Estimate<Seconds>> meeting_by_all_reduce(const Machine& machine,
                                                       const Placement& placement) {
  const std::string_view waiting = waiting_in(spinning);
  const bool measured = std::ranges::any_of(machine.collectives, [&](const CollectiveFit& fit) {
    return fit.collective == "all_reduce" && fit.waiting == waiting;
  });
  if (!measured) return std::nullopt;
  Notes same_as_for_messages;
  const MessageTimes times(machine, placement, spinning, same_as_for_messages);
  if (times.source(smallest_message) == TimeSource::data_sheet) return std::nullopt;
  return times.time(smallest_message);
}

/// The library's own all-reduce, whatever algorithm is set for messages.
std::optional<Estimate<Seconds>> by_library(const Machine& machine, const Placement& placement) {
  if (machine.all_reduce_override.empty()) return meeting_by_all_reduce(machine, placement);
  Machine as_measured = machine;
  as_measured.all_reduce_override.clear();
  return meeting_by_all_reduce(as_measured, placement);
}

std::optional<Estimate<Seconds>> meeting_by_pair(const Machine& machine,
                                                 const Placement& placement) {
  if (crosses_stated_link(machine, placement)) return std::nullopt;
  const CollectiveFit* pair = measured_pair(machine, placement, spinning);
  if (pair == nullptr || pair->waiting != waiting_in(spinning)) return std::nullopt;
  return collective::ceiling_log2(placement.ranks) * pair->cost.time(smallest_message);
}

}  // namespace

Estimate<Seconds> barrier_time(const Machine& machine, const Placement& placement, Notes& notes) {
  if (placement.ranks == 1 || !machine.fitted) return {};
  if (const auto time = by_library(machine, placement)) {
    notes.add(NoteKind::barrier_by_all_reduce);
    return *time;
  }
  if (const auto time = meeting_by_pair(machine, placement)) {
    notes.add(NoteKind::barrier_by_pair);
    return *time;
  }
  notes.add(NoteKind::barrier_unknown);
  return {};
}

}  // namespace dlscale::model
