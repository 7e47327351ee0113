#include "model/parallel/stages/part_exchange.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <utility>

#include "core/base/error.hpp"
#include "model/sgd_iter/costs/costs.hpp"
#include "model/sgd_iter/graph/iteration.hpp"
#include "model/sgd_iter/messages/exchange_costs.hpp"
#include "model/sgd_iter/messages/message_time.hpp"
#include "model/sgd_iter/scaling/cluster_facts.hpp"
#include "model/sgd_iter/scaling/sheet_exchange.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {
namespace {

using parallel::Axis;
using parallel::Operation;
using parallel::OperationKind;
using parallel::ParallelPlan;

void check_schedule_of_messages(const Machine& machine, const Run& run) {
  const bool plain = run.schedule == Schedule::sequential || run.schedule == Schedule::wait_free ||
                     has_buckets(run.schedule) || run.schedule == Schedule::horovod;
  if (run.synchronisation != Synchronisation::all_reduce || exchanges_by_servers(machine, run)) {
    throw ConfigError(
        "gradients of stages are predicted by all-reduces alone, and parameter servers are asked "
        "for. Leave the servers out.");
  }
  if (plain && !overlaps_next_forward(run.schedule)) return;
  throw ConfigError(fmt::format(
      "gradients of stages cannot be predicted with schedule {} (it orders messages by the layers "
      "of the next forward pass, or merges them over the whole network). Take sequential, "
      "wait_free, bucketed or horovod.",
      schedule_name(run.schedule)));
}

/// All ranks of the job that hold a part.
std::vector<Rank> holders(const ParallelPlan& plan, const parallel::Grid& grid, int stage,
                          int copies) {
  std::set<Rank> ranks;
  for (int copy = 0; copy < plan.data * plan.context; ++copy) {
    parallel::Coordinates place{};
    along(Axis::data, place) = copy / plan.context;
    along(Axis::context, place) = copy % plan.context;
    along(Axis::stages, place) = stage;
    ranks.insert(grid.rank(place));
    if (copies == 1) continue;
    along(Axis::stages, place) = plan.stages - 1 - stage;
    ranks.insert(grid.rank(place));
  }
  return {ranks.begin(), ranks.end()};
}

/// The messages of the network, cut where a part ends; by part, in the order of backward.
std::vector<std::vector<Bucket>> messages_by_part(const Network& network, const NetworkParts& parts,
                                                  const Run& run) {
  std::vector<std::vector<Bucket>> all(parts.count());
  for (const Bucket& bucket : gradient_buckets(network, run.schedule, run.settings)) {
    std::size_t last = parts.count();
    for (const LayerId layer : bucket.layers) {
      const std::size_t part = parts.part_of(layer);
      if (part != last) all[part].emplace_back();
      last = part;
      Bucket& own = all[part].back();
      own.layers.push_back(layer);
      own.elements += network.layer(layer).parameter_count();
    }
  }
  return all;
}

/// Messages of gradients, in the slow-downs of a part's plan.
constexpr std::size_t beside_computing = 1;

/// Time that several ranks add to the iteration of one part.
class PartPlan {
 public:
  PartPlan(const Machine& machine, const Run& run, const Placement& place, const Network& network,
           Bytes gradients, Notes& notes)
      : times_(std::make_shared<MessageTimes>(machine, place, run.schedule, notes)), run_(&run) {
    barrier_ = barrier_time(machine, place, notes).value;
    if (!machine.fitted) delays_ = sheet_delays(machine, place, network, gradients);
    if (run.schedule == Schedule::sequential) delays_.interference = 0;
    if (machine.fitted || run.schedule != Schedule::horovod) return;
    vote_ = Seconds(nominal_scaling().parameters[scaling::Parameter::negotiation]);
  }

  [[nodiscard]] Seconds message(Bytes size) const { return times_->time(size).value; }

  /// The steps of the part's last backward, and its messages.
  [[nodiscard]] IterationPlan plan(std::vector<BackwardPart> backward, Seconds before,
                                   std::size_t messages) const {
    IterationPlan plan;
    plan.schedule = run_->schedule;
    plan.forward = before;
    plan.backward = std::move(backward);
    plan.meeting = delays_.meeting;
    plan.barrier = barrier_;
    if (delays_.interference > 0) {
      const double both = 1 + delays_.interference;
      plan.contention.resize(beside_computing + 1);  // votes of the hosts cost the device nothing
      plan.contention.back().fill({both, both});
    }
    if (run_->schedule == Schedule::horovod) {
      plan.packing =
          Packing{.cycle = run_->settings.cycle,
                  .threshold = run_->settings.fusion_threshold,
                  .vote = vote_ > Seconds() ? vote_ : message(vote_size),
                  .time = [times = times_](Bytes pack) { return times->time(pack).value; },
                  .messages = messages,
                  .kind = [](Bytes /*pack*/) { return beside_computing; },
                  .barrier = barrier_};
    }
    return plan;
  }

 private:
  std::shared_ptr<const MessageTimes> times_;
  const Run* run_;
  SheetDelays delays_ = {};
  Seconds barrier_ = {};
  Seconds vote_ = {};
};

Bytes gradients_of(const std::vector<Bucket>& messages) {
  Bytes all;
  for (const Bucket& bucket : messages) all += message_size(bucket);
  return all;
}

LaunchedWork computing(Seconds time) {
  return LaunchedWork::step({}, time, WorkKind::copy);
}

/// The last backward of a part: a stretch before each message, and the rest.
std::vector<BackwardPart> stretches(const Network& network, const NetworkParts& parts,
                                    std::size_t part, const std::vector<Bucket>& messages,
                                    const BackwardTimes& backward, const PartPlan& costs) {
  std::vector<BackwardPart> all;
  std::size_t done = 0;
  const auto stretch_to = [&](std::size_t end) {
    Seconds time;
    for (; done < end; ++done) {
      if (parts.part_of(backward.steps[done].layer) == part) time += backward.times[done];
    }
    all.push_back({computing(time), {}});
  };
  for (const Bucket& bucket : messages) {
    stretch_to(std::max(done, ready_after(network, backward.steps, bucket) + 1));
    all.back().size = message_size(bucket);
    all.back().message = costs.message(all.back().size);
    all.back().kind = beside_computing;
  }
  stretch_to(backward.steps.size());
  return all;
}

/// When each part's reduce has begun on all its ranks of a pipeline.
std::vector<Seconds> begins(std::size_t parts, const PipelineTimeline& alone) {
  std::vector<Seconds> begin(parts);
  for (const std::vector<TimedOperation>& rank : alone.ranks) {
    for (const TimedOperation& timed : rank) {
      if (timed.operation.kind != OperationKind::reduce) continue;
      Seconds& at = begin[static_cast<std::size_t>(timed.operation.part)];
      at = std::max(at, timed.start);
    }
  }
  return begin;
}

/// By part: the ranks of a pipeline that hold it.
std::vector<std::vector<std::size_t>> holders_in(const parallel::Schedule& schedule) {
  std::vector<std::vector<std::size_t>> all(static_cast<std::size_t>(schedule.shape.parts()));
  for (std::size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
    for (const Operation& operation : schedule.ranks[rank]) {
      if (operation.kind != OperationKind::reduce) continue;
      all[static_cast<std::size_t>(operation.part)].push_back(rank);
    }
  }
  return all;
}

}  // namespace

std::vector<PartExchange> part_exchanges(const Network& network, const NetworkParts& parts,
                                         const Machine& machine, const Run& run,
                                         const ParallelPlan& plan, int copies,
                                         const BackwardTimes& backward, Seconds before,
                                         Notes& notes) {
  check_schedule_of_messages(machine, run);
  const parallel::Grid grid(plan);
  const std::vector<std::vector<Bucket>> messages = messages_by_part(network, parts, run);
  std::vector<PartExchange> all(parts.count());
  for (std::size_t part = 0; part < parts.count(); ++part) {
    const int stage = static_cast<int>(part) % plan.stages;
    const std::vector<Rank> group = holders(plan, grid, stage, copies);
    const parallel::NodeSpread spread = parallel::spread_over_nodes(group, run.ranks_per_node);
    PartExchange& exchange = all[part];
    exchange.ranks = static_cast<int>(group.size());
    exchange.nodes = spread.nodes;
    exchange.first = group.front();
    if (exchange.ranks == 1 || messages[part].empty()) continue;
    const PartPlan costs(machine, run, {exchange.ranks, spread.most_on_node}, network,
                         gradients_of(messages[part]), notes);
    const std::vector<BackwardPart> own =
        stretches(network, parts, part, messages[part], backward, costs);
    Seconds computed = before;
    for (const BackwardPart& stretch : own) {
      computed += stretch.compute.device;
      if (stretch.message) exchange.messages += *stretch.message;
    }
    if (run.schedule == Schedule::horovod) {  // packs, not single gradients
      exchange.messages = std::min(exchange.messages, costs.message(gradients_of(messages[part])));
    }
    const IterationTime time = simulate_iteration(costs.plan(own, before, messages[part].size()));
    exchange.tail = std::max(time.total - computed, Seconds());
  }
  return all;
}

std::vector<Seconds> reduce_times(const parallel::Schedule& schedule, const PipelineTimeline& alone,
                                  const std::vector<PartExchange>& exchanges, int ranks_per_node) {
  const std::vector<Seconds> begin = begins(exchanges.size(), alone);
  const std::vector<std::vector<std::size_t>> held_by = holders_in(schedule);
  const auto wanted = [&](std::size_t part) {
    return begin[part] + exchanges[part].tail - exchanges[part].messages;
  };
  std::vector<std::size_t> order(exchanges.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, wanted);
  std::map<Rank, Seconds> way_out;  // when it is free, by node
  std::vector<Seconds> idle(
      schedule.ranks.size());  // after the sums of a rank, as simulate() has it
  std::vector<Seconds> end(exchanges.size());
  for (const std::size_t part : order) {
    const PartExchange& exchange = exchanges[part];
    end[part] = begin[part] + exchange.tail;
    if (exchange.nodes == 1) continue;
    Seconds& free = way_out[exchange.first / ranks_per_node];
    end[part] = std::max(end[part], free + exchange.messages);
    free = end[part];
  }
  std::ranges::stable_sort(order, {}, [&](std::size_t part) { return begin[part]; });
  std::vector<Seconds> reduce(exchanges.size());
  for (const std::size_t part : order) {
    Seconds start = begin[part];
    for (const std::size_t rank : held_by[part]) start = std::max(start, idle[rank]);
    reduce[part] = std::max(end[part] - start, Seconds());
    for (const std::size_t rank : held_by[part]) idle[rank] = start + reduce[part];
  }
  return reduce;
}

}  // namespace dlscale::model
