#include "model/parallel/pipeline/simulator.hpp"

#include <algorithm>

#include "core/base/error.hpp"
#include "model/parallel/pipeline/plain_times.hpp"

namespace dlscale::model {
namespace {

using parallel::Operation;
using parallel::OperationKind;

std::vector<double> plain_or_none(const std::vector<Seconds>& times, std::size_t count) {
  return times.empty() ? std::vector<double>(count, 0.0) : plain_times(times, count);
}

std::size_t part_of(const Operation& operation) {
  return static_cast<std::size_t>(operation.part);
}

}  // namespace

PipelineSimulator::PipelineSimulator(const parallel::Schedule& schedule, const PipelineCosts& costs,
                                     std::vector<std::vector<TimedOperation>>* record)
    : schedule_(schedule),
      parts_(static_cast<std::size_t>(schedule.shape.parts())),
      forward_(plain_times(costs.forward, parts_)),
      backward_(plain_times(costs.backward, parts_)),
      weights_(plain_or_none(costs.backward_weights, parts_)),
      boundary_(plain_or_none(costs.boundary, parts_ - 1)),
      reduce_(plain_or_none(costs.reduce, parts_)),
      update_(plain_or_none(costs.update, parts_)),
      record_(record) {
  for (std::size_t part = 0; part < parts_; ++part) EXPECT(weights_[part] <= backward_[part]);
  const std::size_t pieces = parts_ * static_cast<std::size_t>(schedule.shape.micro_batches);
  arrivals_.assign(2 * pieces, not_sent);
  ranks_.resize(schedule.ranks.size());
  sums_.resize(parts_);
  if (record_ != nullptr) record_->resize(schedule.ranks.size());
  for (std::size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
    for (const Operation& operation : schedule.ranks[rank]) {
      if (operation.kind != OperationKind::reduce) continue;
      sums_[part_of(operation)].holders.push_back(rank);
    }
  }
}

bool PipelineSimulator::run_to(std::span<const std::size_t> ends) {
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    RankState& state = ranks_[rank];
    state.end = ends[rank];
    if (state.awaits == nothing && state.awaits_sum == nothing) ready_.push_back(rank);
  }
  while (!ready_.empty()) {
    const std::size_t rank = ready_.back();
    ready_.pop_back();
    advance(rank);
  }
  return std::ranges::all_of(ranks_,
                             [](const RankState& state) { return state.next == state.end; });
}

PipelineTime PipelineSimulator::run() {
  std::vector<std::size_t> ends;
  for (const std::vector<Operation>& list : schedule_.ranks) ends.push_back(list.size());
  EXPECT(run_to(ends));  // else one waits for ever
  PipelineTime time;
  for (const RankState& state : ranks_) {
    time.makespan = std::max(time.makespan, Seconds(state.now));
    time.busy.emplace_back(state.busy);
    time.live.push_back(state.most_live);
  }
  return time;
}

void PipelineSimulator::go_on_at(std::span<const std::size_t> next,
                                 std::span<const std::size_t> under_way, int micro_batches) {
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) ranks_[rank].next = next[rank];
  std::vector<double> arrivals;
  for (const std::size_t place : under_way) arrivals.push_back(arrivals_[place]);
  arrivals_.assign(arrivals_.size(), not_sent);
  const auto moved = 2 * static_cast<std::ptrdiff_t>(parts_) * micro_batches;
  for (std::size_t i = 0; i < under_way.size(); ++i) {
    arrivals_[under_way[i] + static_cast<std::size_t>(moved)] = arrivals[i];
  }
}

std::vector<std::size_t> PipelineSimulator::done() const {
  std::vector<std::size_t> done;
  for (const RankState& state : ranks_) done.push_back(state.next);
  return done;
}

void PipelineSimulator::advance(std::size_t rank) {
  const std::vector<Operation>& list = schedule_.ranks[rank];
  RankState& state = ranks_[rank];
  while (state.next < state.end) {
    const double start = state.now;
    if (!step(rank, list[state.next])) return;
    if (record_ != nullptr) {
      (*record_)[rank].push_back({list[state.next], Seconds(start), Seconds(state.now)});
    }
    ++state.next;
  }
}

void PipelineSimulator::compute(RankState& state, double time) {
  state.now += time;
  state.busy += time;
}

/// Does the operation; false if it has to wait.
bool PipelineSimulator::step(std::size_t rank, const Operation& operation) {
  RankState& state = ranks_[rank];
  const std::size_t part = part_of(operation);
  switch (operation.kind) {
    case OperationKind::forward:
      compute(state, forward_[part]);
      state.most_live = std::max(state.most_live, ++state.live);
      return true;
    case OperationKind::backward:
      compute(state, backward_[part]);
      --state.live;
      return true;
    case OperationKind::backward_input:
      compute(state, backward_[part] - weights_[part]);
      return true;
    case OperationKind::backward_weights:
      compute(state, weights_[part]);
      --state.live;
      return true;
    case OperationKind::send_activation:
      send(state, operation, place(operation, part + 1, false), boundary_[part]);
      return true;
    case OperationKind::send_gradient:
      send(state, operation, place(operation, part - 1, true), boundary_[part - 1]);
      return true;
    case OperationKind::receive_activation:
      return receive(state, place(operation, part, false));
    case OperationKind::receive_gradient:
      return receive(state, place(operation, part, true));
    case OperationKind::reduce:
      begin_sum(state, part);
      return true;
    case OperationKind::update:
      return update(state, part);
  }
  fail_expectation("a kind of operation");
}

void PipelineSimulator::send(const RankState& state, const Operation& operation, std::size_t at,
                             double time) {
  arrivals_[at] = state.now + time;
  const auto peer = static_cast<std::size_t>(operation.peer);
  if (ranks_[peer].awaits != at) return;
  ranks_[peer].awaits = nothing;
  ready_.push_back(peer);
}

bool PipelineSimulator::receive(RankState& state, std::size_t at) {
  if (arrivals_[at] == not_sent) {
    state.awaits = at;
    return false;
  }
  state.now = std::max(state.now, arrivals_[at]);
  return true;
}

void PipelineSimulator::begin_sum(const RankState& state, std::size_t part) {
  Sum& sum = sums_[part];
  sum.last = std::max(sum.last, state.now);
  if (++sum.begun < sum.holders.size()) return;
  for (const std::size_t rank : sum.holders) {
    sum.last = std::max(sum.last, ranks_[rank].sums_end);
  }
  sum.end = sum.last + reduce_[part];
  for (const std::size_t rank : sum.holders) {
    ranks_[rank].sums_end = sum.end;
    if (ranks_[rank].awaits_sum == part) {
      ranks_[rank].awaits_sum = nothing;
      ready_.push_back(rank);
    }
  }
}

bool PipelineSimulator::update(RankState& state, std::size_t part) {
  if (sums_[part].end == not_sent) {
    state.awaits_sum = part;
    return false;
  }
  state.now = std::max(state.now, sums_[part].end);
  compute(state, update_[part]);
  return true;
}

}  // namespace dlscale::model
