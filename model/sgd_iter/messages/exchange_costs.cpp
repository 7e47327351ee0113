#include "model/sgd_iter/messages/exchange_costs.hpp"

#include <algorithm>
#include <span>

#include "core/collective/selection/parameter_servers.hpp"
#include "core/network/merge.hpp"
#include "core/text/quantity_text.hpp"
#include "model/sgd_iter/messages/message_plan.hpp"
#include "model/sgd_iter/messages/server_traffic.hpp"

namespace dlscale::model {
namespace {

using collective::Collective;

}  // namespace

Estimate<Seconds> MessageCost::total() const {
  Estimate<Seconds> sum = time;
  for (const Estimate<Seconds>& piece : pieces) sum += piece;
  if (gather) sum += *gather;
  return sum;
}

ExchangeCosts::ExchangeCosts(const Network& network, const Machine& machine, const Run& run,
                             const KernelTimes& kernels, Notes& notes)
    : network_(&network), run_(&run) {
  const Placement place{run.ranks, run.ranks_per_node};
  all_reduce_ = std::make_shared<const MessageTimes>(machine, place, run.schedule, notes);
  const auto times = [&](Collective collective) {
    return CollectiveTimes(machine, place, collective, run.schedule, *all_reduce_, notes);
  };
  if (run.synchronisation == Synchronisation::parameter_server && !calls_servers(run)) {
    first_ = times(Collective::reduce);
    second_ = times(Collective::broadcast);
  } else if (run.schedule == Schedule::reduce_scatter_overlap) {
    first_ = times(Collective::reduce_scatter);
    second_ = times(Collective::all_gather);
  }
  messages_ = planned_messages(network, run, kernels, *all_reduce_, notes);
  if (calls_servers(run) && !messages_.empty()) {
    calls_.emplace(machine, run, collective::imbalance(owned_by_servers(network, messages_, run)),
                   notes);
  }
  if (run.schedule == Schedule::priority) note_parts(notes);
  if (run.synchronisation == Synchronisation::parameter_server) note_servers(notes);
}

void ExchangeCosts::note_parts(Notes& notes) const {
  std::size_t parts = 0;
  for (const Bucket& message : messages_) {
    parts +=
        part_sizes(static_cast<std::size_t>(message.elements), run_->settings.partition).size();
  }
  notes.add(NoteKind::priority_parts, {messages_.size(), parts, run_->settings.partition});
}

void ExchangeCosts::note_servers(Notes& notes) const {
  if (run_->settings.sharding == Sharding::largest_first || messages_.empty()) return;
  const std::vector<Bytes> owned = owned_by_servers(*network_, messages_, *run_);
  notes.add(NoteKind::sharding, {sharding_name(run_->settings.sharding)},
            {collective::imbalance(owned), owned.size()});
}

MessageCost ExchangeCosts::in_parts(const Bucket& message) const {
  MessageCost cost;
  cost.size = message_size(message);
  const auto elements = static_cast<std::size_t>(message.elements);
  for (const std::size_t part : part_sizes(elements, run_->settings.partition)) {
    cost.pieces.push_back(all_reduce_->time(message_size({{}, static_cast<std::int64_t>(part)})));
  }
  cost.time = cost.pieces.front();
  cost.pieces.erase(cost.pieces.begin());
  return cost;
}

/// Elements at the end of a message, outside of equal blocks.
std::int64_t ExchangeCosts::no_equal_blocks(const Bucket& message) const {
  if (run_->schedule != Schedule::reduce_scatter_overlap) return 0;
  return message.elements % run_->ranks;
}

MessageCost ExchangeCosts::in_blocks(const Bucket& message) const {
  const std::int64_t rest = no_equal_blocks(message);
  const Bytes whole = message_size({{}, message.elements - rest});
  MessageCost cost;
  cost.size = message_size(message);
  cost.gather.emplace();
  if (whole > Bytes()) {
    cost.time = first_->time(whole);
    cost.gather = second_->time(whole);
  }
  if (rest > 0) cost.time += all_reduce_->time(message_size({{}, rest}));
  return cost;
}

MessageCost ExchangeCosts::by_servers(const Bucket& message) const {
  MessageCost cost;
  cost.size = message_size(message);
  cost.gather.emplace();
  for (const Bytes part : sent_apart(*network_, message, run_->settings.sharding)) {
    cost.time += calls_ ? calls_->time(part) : first_->time(part);
    *cost.gather += calls_ ? calls_->time(part) : second_->time(part);
  }
  return cost;
}

MessageCost ExchangeCosts::cost(const Bucket& message) const {
  if (run_->schedule == Schedule::priority) return in_parts(message);
  if (run_->schedule == Schedule::reduce_scatter_overlap) return in_blocks(message);
  if (first_ || calls_) return by_servers(message);
  MessageCost cost;
  cost.size = message_size(message);
  cost.time = all_reduce_->time(cost.size);
  return cost;
}

TimeSource ExchangeCosts::source(const Bucket& message) const {
  if (calls_) return calls_->source();
  std::vector<Bytes> parts{message_size(message)};
  if (run_->synchronisation == Synchronisation::parameter_server) {
    parts = sent_apart(*network_, message, run_->settings.sharding);
  }
  TimeSource source = first_ ? first_->source(parts.front()) : all_reduce_->source(parts.front());
  for (const Bytes part : parts) {
    if (first_) source = std::max(source, first_->source(part));
    if (second_) source = std::max(source, second_->source(part));
  }
  const std::int64_t rest = no_equal_blocks(message);
  if (rest > 0) source = std::max(source, all_reduce_->source(message_size({{}, rest})));
  return source;
}

Bytes ExchangeCosts::most_owned() const {
  return model::most_owned(*network_, messages_, *run_);
}

}  // namespace dlscale::model
