#pragma once
#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include "backend/host/host.hpp"
#include "bench/memory/host/meeting_point.hpp"
#include "core/base/units.hpp"

namespace dlscale::bench {

/// Threads that run the same function on their parts of an array at the same time. The caller is
/// thread 0; the others wait between calls. Each is bound to one of the caller's cores, the caller
/// too while the team lives. If there are more threads than cores, some share one.
class Team {
 public:
  /// Throws ConfigError if expect_few_threads() does, or if the system cannot start the threads;
  /// LibraryError if it refuses a core.
  explicit Team(int threads);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  /// Calls work(thread) on every thread at once. Returns the time from the first thread's start,
  /// with all threads ready, to the last one's end, each by its own clock reading. Synchronisation
  /// is not included. `work` must not throw.
  Seconds run(const std::function<void(int)>& work);
  [[nodiscard]] int size() const { return static_cast<int>(helpers_.size()) + 1; }

 private:
  using Clock = std::chrono::steady_clock;

  void start_helpers(int threads);
  void help(int thread);

  /// When a thread ran.
  struct Span {
    Clock::time_point start;
    Clock::time_point end;
  };

  void work_as(int thread);

  MeetingPoint ready_;
  MeetingPoint done_;
  const std::function<void(int)>* work_ = nullptr;  ///< null: the threads end
  std::vector<int> cores_;                          ///< by thread
  std::vector<Span> spans_;                         ///< by thread, as the system may delay any
  std::optional<backend::BoundThread> bound_;       ///< the caller's binding
  std::vector<std::jthread> helpers_;
};

/// A thread's part of an array, in elements.
struct Part {
  std::size_t first = 0;
  std::size_t count = 0;
};

/// Part of n doubles for one of `size` threads, in whole cache lines.
Part part_of(std::size_t n, int thread, int size);

}  // namespace dlscale::bench
