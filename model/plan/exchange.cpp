#include "model/plan/exchange.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "core/bucket_limits.hpp"
#include "core/error.hpp"
#include "core/quantity_text.hpp"
#include "model/fast/cut.hpp"
#include "model/sgd_iter/costs.hpp"
#include "model/sgd_iter/message_time.hpp"

namespace dlscale::model {
namespace {

/// The gradients that `costs`, of one message each, send.
std::vector<double> gradients_of(const IterationCosts& costs) {
  std::vector<double> gradients;
  for (const auto& message : costs.message) {
    if (message) gradients.push_back(message->size.si());
  }
  return gradients;
}

/// The same iteration with the gradients of each message of `cut` put together.
IterationCosts put_together(const IterationCosts& single, const Cut& cut,
                            const MessageTimes& times) {
  IterationCosts costs = single;
  costs.backward.assign(1, {});
  costs.message.clear();
  std::size_t gradient = 0;
  for (std::size_t part = 0; part < single.backward.size(); ++part) {
    std::vector<StepCost>& open = costs.backward.back();
    open.insert(open.end(), single.backward[part].begin(), single.backward[part].end());
    if (!single.message[part] || gradient++ != cut.last[costs.message.size()]) continue;
    MessageCost message;
    message.size = Bytes(cut.bytes[costs.message.size()]);
    message.time = times.time(message.size);
    costs.message.emplace_back(std::move(message));
    costs.backward.emplace_back();
  }
  costs.message.emplace_back();  // nothing is sent after the last part
  return costs;
}

}  // namespace

void apply(const Exchange& exchange, Run& run) {
  run.schedule = exchange.schedule;
  run.synchronisation = exchange.synchronisation;
  run.settings.servers = exchange.servers;
  run.settings.sharding = exchange.sharding;
}

bool goes_with_ranks(const Exchange& exchange, int ranks) {
  return ranks == 1 || exchange.servers <= ranks;
}

std::string exchange_text(const Exchange& exchange) {
  std::string text(schedule_name(exchange.schedule));
  if (exchange.bucket) text += " at " + to_text(*exchange.bucket);
  if (!exchange.by_server()) return text;
  if (exchange.servers == 0) {
    text += " by servers on all ranks";
  } else {
    text += fmt::format(" by {} server{}", exchange.servers, exchange.servers == 1 ? "" : "s");
  }
  if (exchange.sharding == Sharding::largest_first) return text;
  return text + fmt::format(" ({})", sharding_name(exchange.sharding));
}

std::optional<Travel> travel_of(const Exchange& exchange) {
  switch (exchange.schedule) {
    case Schedule::sequential:
      return Travel::after_backward;
    case Schedule::wait_free:
    case Schedule::bucketed:
    case Schedule::merged_greedy:
    case Schedule::merged:
      return Travel::beside_backward;
    case Schedule::horovod:
    case Schedule::reduce_scatter_overlap:
    case Schedule::priority:
      return std::nullopt;
  }
  fail_expectation("schedule is a Schedule");
}

BucketLimits bucket_limits(const Exchange& exchange) {
  const Bytes others = exchange.bucket.value_or(bucket_limit);
  return {std::min(first_bucket_limit, others), others};
}

IterationPlan iteration_plan(const Network& network, const Machine& machine, const Run& run,
                             const Exchange& exchange, Notes& notes) {
  return planned_costs(network, machine, run, exchange, notes).plan({}, Bound::value);
}

IterationCosts planned_costs(const Network& network, const Machine& machine, const Run& run,
                             const Exchange& exchange, Notes& notes) {
  EXPECT(run.schedule == exchange.schedule && run.synchronisation == exchange.synchronisation);
  if (!exchange.bucket || run.ranks == 1) {
    return iteration_costs(network, machine, run, notes);
  }
  EXPECT(exchange.schedule == Schedule::bucketed &&
         run.synchronisation == Synchronisation::all_reduce);
  Run one_by_one = run;
  one_by_one.schedule = Schedule::wait_free;
  const IterationCosts single = iteration_costs(network, machine, one_by_one, notes);
  const Placement placement{run.ranks, run.ranks_per_node};
  const MessageTimes times(machine, placement, run.schedule, notes);
  const auto [first, others] = bucket_limits(exchange);
  const Cut cut = cut_in_buckets(gradients_of(single), first, others);
  IterationCosts costs = put_together(single, cut, times);
  costs.shape.schedule = run.schedule;
  return costs;
}

}  // namespace dlscale::model
