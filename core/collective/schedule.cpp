#include "core/collective/schedule.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "core/base/error.hpp"

namespace dlscale::collective {
namespace {

/// Slots of a round that travel from one node to another.
struct Message {
  int slots = 0;
  int added = 0;  ///< those that the receiver adds
};

using Messages = std::map<std::pair<Rank, Rank>, Message>;

Messages messages_of(const Round& round) {
  Messages messages;
  for (const Transfer& transfer : round) {
    if (transfer.from == transfer.to) continue;
    Message& message = messages[{transfer.from, transfer.to}];
    message.slots += transfer.count;
    if (transfer.action == Transfer::Action::add) message.added += transfer.count;
  }
  return messages;
}

/// Messages that a node sends in a round, or those that it receives.
class Load {
 public:
  void add(Seconds message) {
    sum_ += message;
    slowest_ = std::max(slowest_, message);
    ++messages_;
  }
  [[nodiscard]] Seconds time(int ports) const {
    EXPECT(ports == 1 || messages_ <= ports);
    return ports == 1 ? sum_ : slowest_;
  }

 private:
  Seconds sum_;
  Seconds slowest_;
  int messages_ = 0;
};

Seconds time_of(const Round& round, const Schedule& schedule, const LinkBetween& link, Bytes m) {
  std::map<Rank, Load> sent;
  std::map<Rank, Load> received;
  for (const auto& [ends, message] : messages_of(round)) {
    const auto [from, to] = ends;
    const auto [alpha, beta, gamma] = link(from, to);
    const Bytes bytes = message.slots * m / schedule.chunks;
    const Bytes added = message.added * m / schedule.chunks;
    const Seconds time = alpha + bytes * beta + added * gamma;
    sent[from].add(time);
    received[to].add(time);
  }
  Seconds slowest;
  for (const auto& loads : {std::cref(sent), std::cref(received)}) {
    for (const auto& [node, load] : loads.get()) {
      const int ports = node < schedule.ranks ? schedule.rank_ports : schedule.helper_ports;
      slowest = std::max(slowest, load.time(ports));
    }
  }
  return slowest;
}

}  // namespace

Seconds time(const Schedule& schedule, const LinkBetween& link, Bytes m) {
  Seconds total;
  for (const Round& round : schedule.rounds) total += time_of(round, schedule, link, m);
  return total;
}

Seconds time(const Schedule& schedule, const Link& link, Bytes m) {
  return time(
      schedule, [&link](Rank, Rank) { return link; }, m);
}

Seconds time(const Schedule& schedule, const Links& links, int ranks_on_node, Bytes m) {
  EXPECT(ranks_on_node >= 1);
  const auto between = [&](Rank from, Rank to) {
    const bool ranks = from < schedule.ranks && to < schedule.ranks;
    return ranks && from / ranks_on_node == to / ranks_on_node ? links.intra : links.inter;
  };
  return time(schedule, between, m);
}

Schedule colocated(const Schedule& schedule) {
  EXPECT(schedule.ranks >= 1 && schedule.scratch == 0 && schedule.result == 0);
  const int p = schedule.ranks;
  Schedule result = schedule;
  result.scratch = (schedule.helpers + p - 1) / p * schedule.chunks;
  result.helpers = 0;
  result.helper_ports = 1;
  for (Round& round : result.rounds) {
    for (Transfer& transfer : round) {
      const int from = transfer.from / p * schedule.chunks;
      const int to = transfer.to / p * schedule.chunks;
      transfer = {.from = transfer.from % p,
                  .to = transfer.to % p,
                  .first = transfer.first + from,
                  .count = transfer.count,
                  .action = transfer.action,
                  .shift = transfer.shift + to - from};
    }
  }
  return result;
}

}  // namespace dlscale::collective
