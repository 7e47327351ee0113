#include "model/parallel/pipeline/simulation.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/ids.hpp"
#include "model/parallel/pipeline/plain_times.hpp"

namespace dlscale::model {
namespace {

using parallel::Operation;
using parallel::OperationKind;

/// A message that has not been sent.
constexpr double not_sent = -1;
constexpr std::size_t nothing = static_cast<std::size_t>(-1);

std::vector<double> plain_or_none(const std::vector<Seconds>& times, std::size_t count) {
  return times.empty() ? std::vector<double>(count, 0.0) : plain_times(times, count);
}

class PipelineSimulator {
 public:
  PipelineSimulator(const parallel::Schedule& schedule, const PipelineCosts& costs,
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
      ready_.push_back(rank);
      for (const Operation& operation : schedule.ranks[rank]) {
        if (operation.kind != OperationKind::reduce) continue;
        sums_[part_of(operation)].holders.push_back(rank);
      }
    }
  }

  PipelineTime run() {
    while (!ready_.empty()) {
      const std::size_t rank = ready_.back();
      ready_.pop_back();
      advance(rank);
    }
    PipelineTime time;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      EXPECT(ranks_[rank].next == schedule_.ranks[rank].size());  // else it waits for ever
      time.makespan = std::max(time.makespan, Seconds(ranks_[rank].now));
      time.busy.emplace_back(ranks_[rank].busy);
      time.live.push_back(ranks_[rank].most_live);
    }
    return time;
  }

 private:
  struct RankState {
    std::size_t next = 0;  ///< operation
    double now = 0;
    double busy = 0;
    double sums_end = 0;  ///< end of the last sum of gradients that it takes part in
    int live = 0;
    int most_live = 0;
    std::size_t awaits = nothing;      ///< place in arrivals_
    std::size_t awaits_sum = nothing;  ///< part
  };
  /// The sum of a part's gradients.
  struct Sum {
    std::vector<std::size_t> holders = {};  ///< ranks
    std::size_t begun = 0;
    double last = 0;  ///< latest begin
    double end = not_sent;
  };

  static std::size_t part_of(const Operation& operation) {
    return static_cast<std::size_t>(operation.part);
  }

  /// Place of a message, by the part that reads it.
  [[nodiscard]] std::size_t message(std::size_t reader, const Operation& operation,
                                    bool is_gradient) const {
    const auto micro_batch = static_cast<std::size_t>(operation.micro_batch);
    return 2 * (micro_batch * parts_ + reader) + (is_gradient ? 1 : 0);
  }

  void advance(std::size_t rank) {
    const std::vector<Operation>& list = schedule_.ranks[rank];
    RankState& state = ranks_[rank];
    while (state.next < list.size()) {
      const double start = state.now;
      if (!step(rank, list[state.next])) return;
      if (record_ != nullptr) {
        (*record_)[rank].push_back({list[state.next], Seconds(start), Seconds(state.now)});
      }
      ++state.next;
    }
  }

  static void compute(RankState& state, double time) {
    state.now += time;
    state.busy += time;
  }

  /// Does the operation; false if it has to wait.
  bool step(std::size_t rank, const Operation& operation) {
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
        send(state, operation, message(part + 1, operation, false), boundary_[part]);
        return true;
      case OperationKind::send_gradient:
        send(state, operation, message(part - 1, operation, true), boundary_[part - 1]);
        return true;
      case OperationKind::receive_activation:
        return receive(state, message(part, operation, false));
      case OperationKind::receive_gradient:
        return receive(state, message(part, operation, true));
      case OperationKind::reduce:
        begin_sum(state, part);
        return true;
      case OperationKind::update:
        return update(state, part);
    }
    fail_expectation("a kind of operation");
  }

  void send(const RankState& state, const Operation& operation, std::size_t at, double time) {
    arrivals_[at] = state.now + time;
    const auto peer = static_cast<std::size_t>(operation.peer);
    if (ranks_[peer].awaits != at) return;
    ranks_[peer].awaits = nothing;
    ready_.push_back(peer);
  }

  bool receive(RankState& state, std::size_t at) {
    if (arrivals_[at] == not_sent) {
      state.awaits = at;
      return false;
    }
    state.now = std::max(state.now, arrivals_[at]);
    return true;
  }

  void begin_sum(const RankState& state, std::size_t part) {
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

  bool update(RankState& state, std::size_t part) {
    if (sums_[part].end == not_sent) {
      state.awaits_sum = part;
      return false;
    }
    state.now = std::max(state.now, sums_[part].end);
    compute(state, update_[part]);
    return true;
  }

  const parallel::Schedule& schedule_;
  std::size_t parts_;
  std::vector<double> forward_;
  std::vector<double> backward_;
  std::vector<double> weights_;
  std::vector<double> boundary_;
  std::vector<double> reduce_;
  std::vector<double> update_;
  std::vector<std::vector<TimedOperation>>* record_;
  std::vector<double> arrivals_;  ///< of activations and gradients, in turn
  std::vector<RankState> ranks_;
  std::vector<Sum> sums_;
  std::vector<std::size_t> ready_;
};

}  // namespace

double PipelineTime::bubble() const {
  const double all = makespan.si() * static_cast<double>(busy.size());
  if (all <= 0) return 0;
  double computing = 0;
  for (const Seconds time : busy) computing += time.si();
  return std::clamp(1 - computing / all, 0.0, 1.0);
}

PipelineTime simulate(const parallel::Schedule& schedule, const PipelineCosts& costs) {
  return PipelineSimulator(schedule, costs, nullptr).run();
}

PipelineTimeline timeline(const parallel::Schedule& schedule, const PipelineCosts& costs) {
  PipelineTimeline result;
  result.time = PipelineSimulator(schedule, costs, &result.ranks).run();
  return result;
}

}  // namespace dlscale::model
