#pragma once
#include <atomic>
#include <chrono>
#include <thread>

namespace dlscale::bench {

/// A reusable barrier for threads, like std::barrier, but waiting threads spin for a while before
/// they block. A wake-up takes some 10 µs, by which threads that spin would be ahead. They yield
/// the core while they spin.
class MeetingPoint {
 public:
  static constexpr std::chrono::microseconds awake{200};

  explicit MeetingPoint(int threads) : threads_(threads), missing_(threads) {}

  void arrive_and_wait() {
    const unsigned round = round_.load();
    if (arrive(1)) return;
    const auto until = std::chrono::steady_clock::now() + awake;
    while (round_.load() == round) {
      if (std::chrono::steady_clock::now() >= until) return round_.wait(round);
      std::this_thread::yield();
    }
  }

  /// Arrives for `threads` threads that do not wait. Returns whether all have arrived.
  bool arrive(int threads) {
    if (missing_.fetch_sub(threads) != threads) return false;
    missing_ = threads_;
    ++round_;
    round_.notify_all();
    return true;
  }

 private:
  int threads_;
  std::atomic<int> missing_;  ///< in this round
  std::atomic<unsigned> round_{0};
};

}  // namespace dlscale::bench
