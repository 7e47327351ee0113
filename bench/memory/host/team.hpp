#pragma once
#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include "backend/host/bound_thread.hpp"
#include "bench/memory/host/meeting_point.hpp"
#include "core/base/units.hpp"

namespace dlscale::bench {

/// Threads that do the same thing on their parts of an array at the same time. The caller is
/// thread 0; the others wait between two calls. Each stays on a core of its own among those the
/// caller may use, the caller too as long as the team lives; where there are more threads than
/// cores, some share one.
class Team {
 public:
  /// Throws ConfigError for more than expect_few_threads() allows, and where the system makes no
  /// more threads; LibraryError where it refuses a core.
  explicit Team(int threads);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  /// Calls work(thread) on every thread at once; returns the time from when the first began, all
  /// standing ready, until the last was done, each by its own look at the clock: how long they take
  /// to tell each other is not in it. `work` must not throw.
  Seconds run(const std::function<void(int)>& work);
  [[nodiscard]] int size() const { return static_cast<int>(helpers_.size()) + 1; }

 private:
  using Clock = std::chrono::steady_clock;

  void start_helpers(int threads);
  void help(int thread);

  /// When a thread was at work.
  struct Span {
    Clock::time_point start;
    Clock::time_point end;
  };

  void work_as(int thread);

  MeetingPoint ready_;
  MeetingPoint done_;
  const std::function<void(int)>* work_ = nullptr;  ///< null: time to go
  std::vector<int> cores_;                          ///< of each thread
  std::vector<Span> spans_;                         ///< likewise: the system may keep any waiting
  std::optional<backend::BoundThread> bound_;       ///< the caller
  std::vector<std::jthread> helpers_;
};

/// A thread's part of an array, in elements.
struct Part {
  std::size_t first = 0;
  std::size_t count = 0;
};

/// The part of n doubles that is one of `size` threads', in whole cache lines.
Part part_of(std::size_t n, int thread, int size);

}  // namespace dlscale::bench
