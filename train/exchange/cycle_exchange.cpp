#include "train/exchange/cycle_exchange.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/network/merge.hpp"

namespace dlscale::train {

namespace {

Instant::duration duration_of(Seconds period) {
  const std::chrono::duration<double> seconds(period.si());
  return std::max(std::chrono::duration_cast<Instant::duration>(seconds), Instant::duration(1));
}

/// The first tick at or after `now` of a clock that ticks every `period` after `last`.
Instant next_tick(Instant last, Instant::duration period, Instant now) {
  if (last + period >= now) return last + period;
  return last + period * ((now - last + period - Instant::duration(1)) / period);
}

}  // namespace

CycleExchange::CycleExchange(std::unique_ptr<backend::Communicator> communicator, Staging staging,
                             backend::WaitPolicy waiting, const Cycle& cycle)
    : communicator_(std::move(communicator)),
      reducer_(std::move(staging)),
      waiting_(waiting),
      threshold_(cycle.threshold),
      messages_(cycle.messages),
      period_(duration_of(cycle.period)),
      wake_(steady_clock::now()),
      ready_(cycle.device),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

CycleExchange::~CycleExchange() = default;

void CycleExchange::post(std::size_t message, std::span<float> gradients,
                         std::shared_ptr<const backend::Mark> ready) {
  arrivals().expect(message);
  ready_.post(message, gradients, std::move(ready));
}

void CycleExchange::run(const std::stop_token& stop) {
  try {
    while (ready_.wait_ready(1, stop)) {
      // The clock continued while the thread was idle.
      wake_ = next_tick(wake_, period_, steady_clock::now());
      if (!exchange_iteration(stop)) return;
    }
  } catch (...) {
    arrivals().failed(std::current_exception());
  }
}

/// Exchanges one iteration, from its first gradient to its last. Returns false if stopped between
/// two wake-ups.
bool CycleExchange::exchange_iteration(const std::stop_token& stop) {
  for (std::size_t sent = 0; sent < messages_;) {
    if (!sleep_until_wake(stop)) return false;
    const std::size_t ready = agree_on_ready();
    send(sent, ready);
    sent = ready;
    if (sent < messages_) wake_ = std::max(wake_ + period_, steady_clock::now());
  }
  return true;
}

bool CycleExchange::sleep_until_wake(const std::stop_token& stop) {
  std::unique_lock lock(sleeping_);
  sleeper_.wait_until(lock, stop, wake_, [] { return false; });
  return !stop.stop_requested();
}

std::size_t CycleExchange::agree_on_ready() {
  auto ready = static_cast<double>(ready_.ready());
  communicator_->barrier(waiting_);
  communicator_->all_reduce(std::span<double>(&ready, 1), backend::Reduction::min);
  return static_cast<std::size_t>(ready);
}

/// Sends messages first … last - 1.
void CycleExchange::send(std::size_t first, std::size_t last) {
  std::vector<ReadyList::Posted> messages;
  std::vector<Bytes> sizes;
  for (std::size_t i = first; i < last; ++i) {
    messages.push_back(ready_.posted(i));
    sizes.emplace_back(static_cast<double>(messages.back().gradients.size_bytes()));
  }
  // The next iteration may post its first gradient as soon as this one's last has arrived.
  if (last == messages_) ready_.clear();
  std::size_t begin = 0;
  for (const std::size_t count : fuse(sizes, threshold_)) {
    float* const from = messages[begin].gradients.data();
    const std::span<float> tail = messages[begin + count - 1].gradients;
    EXPECT(from <= tail.data());
    const std::span<float> pack(from, tail.data() + tail.size());
    Transfer transfer = reducer_.reduce(*communicator_, first + begin, pack).front();
    transfer.buckets = count;
    transfer.posted = messages[begin].when;
    arrivals().ended(transfer, true);
    begin += count;
  }
}

}  // namespace dlscale::train
