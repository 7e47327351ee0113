#include "bench/comm/overlap/overlap_rounds.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <utility>

#include "backend/comm/together.hpp"
#include "bench/engine/benchmark.hpp"
#include "core/base/error.hpp"

namespace dlscale::bench {
namespace {

using Clock = std::chrono::steady_clock;

Seconds between(Clock::time_point from, Clock::time_point to) {
  return Seconds(std::chrono::duration<double>(to - from).count());
}

}  // namespace

MessageThread::MessageThread() : thread_([this](const std::stop_token& stop) { run(stop); }) {}

MessageThread::~MessageThread() = default;

void MessageThread::begin(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    EXPECT(work && !work_);
    work_ = std::move(work);
  }
  given_.notify_one();
}

void MessageThread::finish() {
  std::unique_lock lock(mutex_);
  done_.wait(lock, [this] { return !work_; });
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void MessageThread::run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (given_.wait(lock, stop, [this] { return static_cast<bool>(work_); })) {
    lock.unlock();
    std::exception_ptr failure;
    try {
      work_();  // not changed by others until it is done
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    failure_ = failure;
    work_ = nullptr;
    done_.notify_one();
  }
}

Seconds OverlapRounds::compute() {
  ranks_->barrier(backend::WaitPolicy::spin);
  return timed([this] { do_work(); });
}

Seconds OverlapRounds::send() {
  ranks_->barrier(backend::WaitPolicy::spin);
  thread_.begin([this] { carry(); });
  thread_.finish();
  return carried_;
}

OverlapTimes OverlapRounds::both() {
  ranks_->barrier(backend::WaitPolicy::spin);
  const Clock::time_point origin = Clock::now();
  thread_.begin([this] { carry(); });
  do_work();
  const Clock::time_point computed = Clock::now();
  thread_.finish();
  stay_ = traffic_->stay();
  const Clock::time_point end = std::max(computed, stay_.exit);
  return {.compute_alone = {},
          .messages_alone = {},
          .together = between(origin, end),
          .compute_beside = between(origin, computed),
          .messages_beside = carried_};
}

OverlapTimes OverlapRounds::round(const std::function<void()>& prepare) {
  OverlapTimes alone;
  OverlapTimes at_once;
  for (int i = 0; i < 3; ++i) {
    const int part = (first_ + i) % 3;
    if (part > 0) prepare();
    if (part == 0) alone.compute_alone = compute();
    if (part == 1) alone.messages_alone = send();
    if (part == 2) at_once = both();
  }
  first_ = (first_ + 1) % 3;
  at_once.compute_alone = alone.compute_alone;
  at_once.messages_alone = alone.messages_alone;
  return at_once;
}

/// Signals are left to the sampler, which keeps the samples so far.
void OverlapRounds::throw_failure() const {
  std::array<double, 1> failed{failure_ ? 1.0 : 0.0};
  ranks_->all_reduce(failed, backend::Reduction::max);
  if (failed[0] > 0) throw_if_ended(agree(*ranks_, failure_), failure_);
}

void OverlapRounds::do_work() {
  if (failure_) return;
  try {
    for (int i = 0; i < runs_; ++i) work_->run();
  } catch (...) {
    failure_ = std::current_exception();
  }
}

void OverlapRounds::carry() {
  carrier_->barrier(waiting_);
  carried_ = traffic_->once();
}

Overlap overlap(const OverlapTimes& times) {
  const auto [t_c, t_m, t_o, c_o, m_o] = times;
  EXPECT(t_c > Seconds(0) && t_m > Seconds(0));
  const Seconds exposed = std::max(Seconds(0), t_o - c_o);
  return {.efficiency = (t_c + t_m - t_o) / std::min(t_c, t_m),
          .compute_slowdown = c_o / t_c,
          .messages_slowdown = m_o / t_m,
          .exposed = exposed,
          .hidden = m_o - exposed};
}

int matching_runs(double ratio, Seconds messages, Seconds each) {
  EXPECT(ratio > 0 && each > Seconds(0));
  return static_cast<int>(std::clamp(std::round(ratio * (messages / each)), 1.0, 1e6));
}

}  // namespace dlscale::bench
