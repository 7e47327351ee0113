#include "model/sgd_iter/messages/collective_time.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <span>

#include "core/base/error.hpp"
#include "model/sgd_iter/messages/link_estimate.hpp"
#include "model/sgd_iter/messages/message_time.hpp"

namespace dlscale::model {
namespace {

using collective::Algorithm;
using collective::Collective;
using collective::Link;

/// Algorithms whose closed form depends only on the number of ranks and one link.
constexpr std::string_view reduces[] = {"binomial", "rabenseifner", "linear"};
constexpr std::string_view broadcasts[] = {"binomial", "scatter_doubling", "scatter_ring",
                                           "linear"};

std::span<const std::string_view> candidates_of(Collective collective) {
  if (collective == Collective::reduce) return reduces;
  EXPECT(collective == Collective::broadcast);
  return broadcasts;
}

bool halves_all_reduce(Collective collective) {
  return collective == Collective::reduce_scatter || collective == Collective::all_gather;
}

/// The fit to as many ranks, preferably after waiting as in `schedule`.
const CollectiveFit* find_fit(const Machine& machine, const Placement& placement,
                              Collective collective, std::string_view waiting) {
  const CollectiveFit* found = nullptr;
  for (const CollectiveFit& fit : machine.collectives) {
    if (fit.collective != to_string(collective) || fit.ranks != placement.ranks ||
        fit.ranks_on_node != placement.ranks_on_node()) {
      continue;
    }
    if (found == nullptr || fit.waiting == waiting) found = &fit;
  }
  return found;
}

}  // namespace

CollectiveTimes::CollectiveTimes(const Machine& machine, const Placement& placement,
                                 Collective collective, Schedule schedule,
                                 const MessageTimes& all_reduce, Notes& notes)
    : placement_(placement), collective_(collective), all_reduce_(&all_reduce), notes_(&notes) {
  EXPECT(collective != Collective::all_reduce && collective != Collective::all_to_all);
  if (all_reduce.is_nccl()) nccl_.emplace(machine, placement, collective);
  const std::string_view waiting = waiting_in(schedule);
  const CollectiveFit* measured = find_fit(machine, placement, collective, waiting);
  if (measured == nullptr) return;
  if (crosses_stated_link(machine, placement)) {
    over_other_link_ = true;
    const LinkSpec& link = machine.cluster.inter_node;
    notes.add(NoteKind::collective_left_out,
              {to_string(collective), link.bandwidth.si() * 1e-9, link.latency.si() * 1e6});
    return;
  }
  fit_ = measured;
  if (fit_->waiting == waiting) return;
  notes.add(NoteKind::collective_other_waiting,
            {to_string(collective), waiting, schedule_name(schedule), fit_->waiting});
}

Estimate<Seconds> CollectiveTimes::time(Bytes size) const {
  if (placement_.ranks == 1) return {};
  if (fit_ == nullptr) return derived(size);
  if (!fit_->cost.covers(size)) {
    notes_->add(NoteKind::collective_outside_sizes, {to_string(collective_)}, {size});
  }
  return fit_->cost.time(size);
}

TimeSource CollectiveTimes::source(Bytes size) const {
  EXPECT(placement_.ranks > 1);
  if (fit_ != nullptr && fit_->cost.covers(size)) return TimeSource::fitted;
  return std::max(TimeSource::extrapolated, all_reduce_->source(size));
}

Seconds CollectiveTimes::by_link(Seconds smallest, Seconds all_reduce, Bytes size) const {
  const double p = placement_.ranks;
  const Seconds rest = std::max(Seconds(), all_reduce - smallest);
  const Link link{smallest / (2 * (p - 1)), rest / size * (p / (2 * (p - 1))), {}};
  Seconds best(std::numeric_limits<double>::infinity());
  for (const std::string_view name : candidates_of(collective_)) {
    const Algorithm* algorithm = collective::find(collective_, name);
    EXPECT(algorithm != nullptr);
    best = std::min(best, by(*algorithm, link, size));
  }
  return best;
}

/// Links are not shared where at most one message leaves a node in a round.
Seconds CollectiveTimes::by(const Algorithm& algorithm, const Link& link, Bytes size) const {
  if (placement_.nodes() == 1 || algorithm.outflow == collective::Outflow::one) {
    return algorithm.cost({link, link}, {.p = placement_.ranks}, size);
  }
  const auto& rounds = rounds_.try_emplace(&algorithm, algorithm, placement_).first->second;
  return rounds.time({link, link}, 1, size);
}

Estimate<Seconds> CollectiveTimes::derived(Bytes size) const {
  if (nccl_) return nccl_->time(size, std::string(to_string(collective_)), *notes_);
  const Estimate<Seconds> whole = all_reduce_->time(size);
  if (halves_all_reduce(collective_)) {
    notes_->add(NoteKind::collective_half, {to_string(collective_), over_other_link_ ? 1 : 0});
    return 0.5 * whole;
  }
  notes_->add(
      NoteKind::collective_fastest,
      {to_string(collective_), fmt::format("{}", fmt::join(candidates_of(collective_), ", ")),
       over_other_link_ ? 1 : 0});
  const Estimate<Seconds> smallest = all_reduce_->time(std::min(size, smallest_message));
  const auto by = [&](auto bound) { return by_link(smallest.*bound, whole.*bound, size); };
  return {by(&Estimate<Seconds>::value), by(&Estimate<Seconds>::low), by(&Estimate<Seconds>::high)};
}

}  // namespace dlscale::model
