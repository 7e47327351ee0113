#pragma once
#include <atomic>
#include <chrono>
#include <thread>

namespace dlscale::bench {

/// Where threads wait until all of them have come, again and again. Like std::barrier, but whoever
/// waits looks again and again for a while before it sleeps: to be woken takes some 10 µs, which
/// those that are awake would be ahead. Meanwhile others may have the core.
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

  /// For so many threads that will not wait. Whether all have come.
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
