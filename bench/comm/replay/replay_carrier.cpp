#include "bench/comm/replay/replay_carrier.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <set>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "backend/comm/together.hpp"
#include "bench/engine/timed.hpp"
#include "bench/workbench/finding.hpp"

namespace dlscale::bench {
namespace {

using std::chrono::steady_clock;
using Instant = steady_clock::time_point;

std::array<std::byte, 4> one() {
  std::array<std::byte, 4> bytes{};
  write_element(replayed_element, 1, bytes.data());
  return bytes;
}

/// Waits until `when`. A sleeping thread wakes tens of microseconds late, so it spins at the end.
void wait_until(Instant when) {
  constexpr std::chrono::microseconds watched{200};
  if (when - steady_clock::now() > watched) std::this_thread::sleep_until(when - watched);
  while (steady_clock::now() < when) std::this_thread::yield();
}

Instant after(Instant start, Seconds time) {
  return start + std::chrono::duration_cast<steady_clock::duration>(
                     std::chrono::duration<double>(time.si()));
}

backend::Mode mode_for(const std::vector<std::vector<ReplayStep>>& iterations) {
  const bool at_once = std::ranges::any_of(iterations, [](const auto& iteration) {
    return std::ranges::any_of(iteration,
                               [](const ReplayStep& step) { return step.recorded->under_way > 0; });
  });
  return at_once ? backend::Mode::nonblocking : backend::Mode::blocking;
}

Message message_of(const ReplayedMessage& message, backend::Mode mode) {
  Message sent;
  sent.collective = message.collective;
  sent.bytes = message.bytes;
  sent.type = replayed_element;
  sent.mode = mode;
  sent.root = message.root.value_or(0);
  const auto collective = collective_named(message.collective);
  if (collective && backend::in_blocks(*collective)) sent.placement = Placement::out_of_place;
  return sent;
}

}  // namespace

ReplayCarrier::ReplayCarrier(const ReplayPlan& plan,
                             const std::vector<std::vector<ReplayStep>>& iterations,
                             backend::Communicator& ranks)
    : plan_(&plan), ranks_(&ranks), mode_(mode_for(iterations)) {
  const std::size_t recorded = static_cast<std::size_t>(ranks.rank()) % plan.profile.ranks();
  for (const auto& iteration : iterations) {
    auto& sendings = iterations_.emplace_back();
    for (const ReplayStep& step : iteration) {
      auto& lane = *lanes_.try_emplace(step.message).first;
      if (!lane.second.traffic) {
        lane.second.traffic = make_traffic(ranks, message_of(step.message, mode_));
      }
      sendings.push_back({.lane = &lane,
                          .posted = step.recorded->posted[recorded],
                          .under_way = step.recorded->under_way});
    }
  }
  together(ranks, [this] { take_memory(); });
  for (auto& [message, lane] : lanes_) lane.traffic->use(lane.memory);
}

void ReplayCarrier::take_memory() {
  std::size_t all = 0;
  std::size_t beside = 0;
  for (const auto& [message, lane] : lanes_) {
    all += whole_lines(lane.traffic->memory());
    beside += lane.traffic->memory_beside();
  }
  expect_host_memory("the messages of the replay", Bytes(static_cast<double>(all + beside)),
                     ranks_->node_size());
  memory_.emplace(all, one(), Bytes(0));
  std::span<std::byte> rest = memory_->next();
  for (auto& [message, lane] : lanes_) {
    lane.memory = rest.first(lane.traffic->memory());
    rest = rest.subspan(whole_lines(lane.memory.size()));
  }
}

std::string ReplayCarrier::check() {
  std::set<const Lanes::value_type*> checked;
  for (const Iteration& iteration : iterations_) {
    const std::size_t before = checked.size();
    for (const Sending& sending : iteration) checked.insert(sending.lane);
    if (checked.size() == before) continue;
    std::string verdict = check(iteration);
    if (!verdict.empty()) return verdict;
  }
  return {};
}

std::string ReplayCarrier::check(const Iteration& iteration) {
  together(*ranks_, [&] {
    for (const Sending& sending : iteration) {
      sending.traffic().write_numbers(sending.lane->second.memory);
    }
  });
  static_cast<void>(send(iteration, Gaps::none));
  for (const Sending& sending : iteration) {
    const auto& [message, lane] = *sending.lane;
    const std::string verdict = shared_verdict(*ranks_, lane.traffic->compare(lane.memory));
    if (verdict.empty()) continue;
    return fmt::format("message {}, {} of {} B: {}", message.place, message.collective,
                       message.bytes, verdict);
  }
  return {};
}

Seconds ReplayCarrier::iterate() {
  ReplayedIteration& now = done_.emplace_back();
  now.number = (done_.size() - 1) % iterations_.size();
  return timed([&] { now.times = send(iterations_[now.number], plan_->gaps); });
}

/// Sends an iteration. Returns each message's time from its start to the end of its wait; the
/// oldest is waited for when the limit of messages in flight is reached.
std::vector<double> ReplayCarrier::send(const Iteration& iteration, Gaps gaps) {
  std::vector<double> times;
  times.reserve(iteration.size());
  std::vector<Instant> begun;
  begun.reserve(iteration.size());
  const Instant start = steady_clock::now();
  const auto finish_until = [&](std::size_t under_way) {
    while (begun.size() - times.size() > under_way) {
      iteration[times.size()].traffic().finish();
      times.push_back(
          std::chrono::duration<double>(steady_clock::now() - begun[times.size()]).count());
    }
  };
  for (const Sending& sending : iteration) {
    finish_until(sending.under_way);
    if (gaps == Gaps::recorded) wait_until(after(start, sending.posted));
    if (plan_->meets_each || begun.empty()) ranks_->meet(plan_->waiting);
    begun.push_back(steady_clock::now());
    sending.traffic().begin();
  }
  finish_until(0);
  return times;
}

}  // namespace dlscale::bench
