#include "model/plan/placed_messages.hpp"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "core/base/error.hpp"
#include "core/collective/selection/parameter_servers.hpp"
#include "model/sgd_iter/evidence/notes.hpp"
#include "model/sgd_iter/messages/collective_time.hpp"
#include "model/sgd_iter/messages/exchange_costs.hpp"
#include "model/sgd_iter/messages/message_time.hpp"
#include "model/sgd_iter/scaling/cluster_facts.hpp"
#include "model/sgd_iter/scaling/sheet_exchange.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {

std::vector<LinearCost> nominal_lines(const Machine& machine, const Placement& placement) {
  EXPECT(placement.ranks >= 2);
  if (machine.fitted || !machine.all_reduce_override.empty()) return {};
  if (!machine.collectives.empty() || !machine.algorithms.empty()) return {};
  const SheetMessages messages = sheet_messages(machine, placement);
  return {{messages.agreement + messages.start, messages.per_byte}};
}

namespace {

/// Factor of measured points on what several ranks add.
double added_by_level(const Machine& machine, const Placement& placement) {
  return machine.level ? machine.level->at(placement.ranks).added : 1;
}

}  // namespace

RankDelays rank_delays(const Machine& machine, const Placement& placement, const Network& network) {
  if (machine.fitted) return {};
  const SheetDelays delays = sheet_delays(machine, placement, network);
  const double added = added_by_level(machine, placement);
  return {1 + added * delays.waiting, added * delays.meeting.si(), delays.interference};
}

IterationCosts without_delays(IterationCosts costs) {
  if (!costs.by_sheets) return costs;
  costs.delays = {};
  costs.contention = {};
  return costs;
}

/// The times of MessageTimes, one query for each size. Their notes are dropped; single predictions
/// show them.
struct PlacedMessages::Looked {
  Looked(const Machine& machine, const Placement& placement, Schedule schedule)
      : times(machine, placement, schedule, notes),
        reduce(machine, placement, collective::Collective::reduce, schedule, times, notes),
        broadcast(machine, placement, collective::Collective::broadcast, schedule, times, notes) {}
  Notes notes;
  MessageTimes times;
  CollectiveTimes reduce;
  CollectiveTimes broadcast;
  std::unordered_map<double, double> known;
  std::unordered_map<double, Served> known_served;
};

PlacedMessages::PlacedMessages(const Machine& machine, const Placement& placement)
    : machine_(&machine), placement_(placement), added_(added_by_level(machine, placement)) {
  if (placement.ranks == 1) {
    line_.emplace();
    return;
  }
  lines_ = nominal_lines(machine, placement);
  for (LinearCost& line : lines_) line = {added_ * line.a, added_ * line.b};
  if (lines_.size() == 1) line_ = lines_.front();
  Notes notes;
  barrier_ = barrier_time(machine, placement, notes).value.si();
}

PlacedMessages::~PlacedMessages() = default;
PlacedMessages::PlacedMessages(PlacedMessages&& other) noexcept = default;
PlacedMessages::Looked& PlacedMessages::looked(Travel travel) {
  const bool beside = travel == Travel::beside_backward;
  std::unique_ptr<Looked>& looked = beside ? beside_ : after_;
  if (!looked) {
    looked = std::make_unique<Looked>(*machine_, placement_,
                                      beside ? Schedule::wait_free : Schedule::sequential);
  }
  return *looked;
}

double PlacedMessages::time(Travel travel, double bytes) {
  if (line_) return line_->a.si() + line_->b.si() * bytes;
  if (!lines_.empty()) {
    double least = std::numeric_limits<double>::infinity();
    for (const LinearCost& line : lines_) {
      least = std::min(least, line.a.si() + line.b.si() * bytes);
    }
    return least;
  }
  Looked& found = looked(travel);
  const auto [place, is_new] = found.known.try_emplace(bytes);
  if (is_new) place->second = added_ * found.times.time(Bytes(bytes)).value.si();
  return place->second;
}

ServedMessages PlacedMessages::served(const Network& network, std::span<const Bucket> messages,
                                      const Run& run, Travel travel) {
  ServedMessages served;
  if (messages.empty()) return served;
  if (exchanges_by_servers(*machine_, run)) {
    SheetServers& servers = served.by_sheets.emplace(sheet_servers(*machine_, run, network));
    servers.transfer = added_ * servers.transfer;
    servers.last = added_ * servers.last;
    const auto all = static_cast<double>(network.parameter_count());
    for (const Bucket& message : messages) {
      const double share = static_cast<double>(message.elements) / all;
      served.reduces.push_back((share * servers.transfer).si());
    }
    return served;
  }
  Notes notes;
  std::optional<ServerCalls> calls;
  if (calls_servers(run)) {
    const auto owned = owned_by_servers(network, messages, run);
    calls.emplace(*machine_, run, collective::imbalance(owned), notes);
  }
  for (const Bucket& message : messages) {
    double& reduces = served.reduces.emplace_back();
    for (const Bytes part : sent_apart(network, message, run.settings.sharding)) {
      const auto [reduce, broadcast] =
          calls ? this->served(*calls, part) : this->served(travel, part.si());
      reduces += reduce;
      served.broadcasts += broadcast;
    }
  }
  served.broadcasts += barrier_;
  return served;
}

PlacedMessages::Served PlacedMessages::served(Travel travel, double bytes) {
  Looked& found = looked(travel);
  const auto [place, is_new] = found.known_served.try_emplace(bytes);
  if (is_new) {
    place->second = {added_ * found.reduce.time(Bytes(bytes)).value.si(),
                     added_ * found.broadcast.time(Bytes(bytes)).value.si()};
  }
  return place->second;
}

}  // namespace dlscale::model
