#include "bench/comm/replay_carrier.hpp"

#include <array>
#include <chrono>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "bench/conv/finding.hpp"
#include "bench/timed.hpp"
#include "bench/together.hpp"

namespace dlscale::bench {
namespace {

using std::chrono::steady_clock;
using Instant = steady_clock::time_point;

constexpr backend::ElementType element = backend::ElementType::f32;
constexpr std::size_t line_bytes = 64;

std::size_t whole_lines(std::size_t bytes) {
  return (bytes + line_bytes - 1) / line_bytes * line_bytes;
}

std::array<std::byte, 4> one() {
  std::array<std::byte, 4> bytes{};
  write_element(element, 1, bytes.data());
  return bytes;
}

/// A thread that sleeps wakes some tens of microseconds late, so that the last of them are spent
/// looking at the clock.
void wait_until(Instant when) {
  constexpr std::chrono::microseconds watched{200};
  if (when - steady_clock::now() > watched) std::this_thread::sleep_until(when - watched);
  while (steady_clock::now() < when) std::this_thread::yield();
}

Instant after(Instant start, Seconds time) {
  return start + std::chrono::duration_cast<steady_clock::duration>(
                     std::chrono::duration<double>(time.si()));
}

Message message_of(const ReplayedMessage& message) {
  Message sent;
  sent.collective = message.collective;
  sent.bytes = message.bytes;
  sent.type = element;
  return sent;
}

}  // namespace

ReplayCarrier::ReplayCarrier(const ReplayPlan& plan,
                             const std::vector<std::vector<ReplayStep>>& iterations,
                             backend::Communicator& ranks)
    : plan_(&plan), ranks_(&ranks) {
  const std::size_t recorded = static_cast<std::size_t>(ranks.rank()) % plan.profile.ranks();
  for (const auto& iteration : iterations) {
    auto& sendings = iterations_.emplace_back();
    for (const ReplayStep& step : iteration) {
      Lane& lane = lanes_[step.message];
      if (!lane.traffic) lane.traffic = make_traffic(ranks, message_of(step.message));
      sendings.push_back({lane.traffic.get(), step.recorded->posted[recorded]});
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
  for (auto& [message, lane] : lanes_) {
    together(*ranks_, [&lane = lane] { lane.traffic->write_numbers(lane.memory); });
    static_cast<void>(lane.traffic->once());
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
  const std::vector<Sending>& sendings = iterations_[now.number];
  now.times.reserve(sendings.size());
  return timed([&] {
    const Instant start = steady_clock::now();
    for (const Sending& sending : sendings) {
      if (plan_->gaps == Gaps::recorded) wait_until(after(start, sending.posted));
      if (plan_->meets_each || now.times.empty()) ranks_->meet(plan_->waiting);
      now.times.push_back(sending.traffic->once().si());
    }
  });
}

}  // namespace dlscale::bench
