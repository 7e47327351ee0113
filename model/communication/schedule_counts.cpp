#include "model/communication/schedule_counts.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/base/error.hpp"

namespace dlscale::model {
namespace {

/// Traffic of a node with its partners in a round.
struct Load {
  double sum = 0;
  double most = 0;
  void add(double amount) {
    sum += amount;
    most = std::max(most, amount);
  }
};

using Loads = std::map<Rank, Load>;
/// Slots by sender and receiver: transfers between the same two are one message.
using Messages = std::map<std::pair<Rank, Rank>, int>;

Messages messages_of(const collective::Round& round) {
  Messages messages;
  for (const collective::Transfer& transfer : round) {
    if (transfer.from != transfer.to) messages[{transfer.from, transfer.to}] += transfer.count;
  }
  return messages;
}

double busiest(const Loads& loads, const collective::Schedule& schedule) {
  double most = 0;
  for (const auto& [node, load] : loads) {
    const int ports = node < schedule.ranks ? schedule.rank_ports : schedule.helper_ports;
    most = std::max(most, ports == 1 ? load.sum : load.most);
  }
  return most;
}

ScheduleCounts count_round(const collective::Round& round, const collective::Schedule& schedule,
                           int cores) {
  Loads sent;
  Loads received;
  Loads exchanged;
  std::set<Rank> active;
  const Messages messages = messages_of(round);
  for (const auto& [ends, slots] : messages) {
    const auto& [from, to] = ends;
    sent[from].add(1);
    received[to].add(1);
    active.insert({from, to});
    const auto back = messages.find({to, from});
    if (back != messages.end()) exchanged[from].add(std::min(slots, back->second));
  }
  ScheduleCounts counts;
  counts.messages = std::max(busiest(sent, schedule), busiest(received, schedule));
  const double per_core = cores > 0 ? static_cast<double>(active.size()) / cores : 1;
  counts.on_cores = counts.messages * std::max(1.0, per_core);
  counts.both_ways = busiest(exchanged, schedule) / schedule.chunks;
  return counts;
}

}  // namespace

ScheduleCounts count(const collective::Schedule& schedule, int cores) {
  EXPECT(cores >= 0 && schedule.chunks >= 1);
  ScheduleCounts total;
  for (const collective::Round& round : schedule.rounds) {
    const ScheduleCounts counts = count_round(round, schedule, cores);
    total.messages += counts.messages;
    total.on_cores += counts.on_cores;
    total.both_ways += counts.both_ways;
  }
  return total;
}

}  // namespace dlscale::model
