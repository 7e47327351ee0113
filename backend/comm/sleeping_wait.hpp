#pragma once
#include <sys/prctl.h>
#include <time.h>

#include <algorithm>
#include <chrono>

namespace dlscale::backend {

/// Sleeps that grow from 10 µs to `longest`, between polls. They are short compared with an
/// all-reduce that is worth waiting for, and long enough that a waiting rank leaves its core to
/// others. The kernel adds 50 µs to every sleep unless the thread requests less.
class SleepingWait {
 public:
  explicit SleepingWait(std::chrono::nanoseconds longest = std::chrono::microseconds(100))
      : slack_(prctl(PR_GET_TIMERSLACK)), longest_(longest.count()) {
    prctl(PR_SET_TIMERSLACK, 1000L);
  }
  ~SleepingWait() { prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(slack_)); }
  SleepingWait(const SleepingWait&) = delete;
  SleepingWait& operator=(const SleepingWait&) = delete;

  void once() {
    const timespec pause{0, nanoseconds_};
    nanosleep(&pause, nullptr);
    nanoseconds_ = std::min(2 * nanoseconds_, longest_);
  }

 private:
  int slack_;
  long longest_;
  long nanoseconds_ = 10'000;
};

}  // namespace dlscale::backend
