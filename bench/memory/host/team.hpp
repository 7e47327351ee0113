#pragma once
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <new>
#include <optional>
#include <thread>
#include <vector>

#include "backend/comm/communicator.hpp"
#include "backend/host/host.hpp"
#include "core/base/units.hpp"

namespace dlscale::bench {

/// A reusable barrier for threads, like std::barrier, but waiting threads spin for a while before
/// they block. A wake-up takes some 10 µs, by which threads that spin would be ahead. They yield
/// the core while they spin.
class SpinBarrier {
 public:
  static constexpr std::chrono::microseconds awake{200};

  explicit SpinBarrier(int threads) : threads_(threads), missing_(threads) {}

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

/// Numbers in untouched pages, which first touch places near the thread that uses them. The array
/// begins at a multiple of 4096 bytes.
template <class Number>
class Array {
 public:
  explicit Array(std::size_t n)
      : n_(n), values_(static_cast<Number*>(::operator new(n * sizeof(Number), alignment))) {}
  ~Array() { ::operator delete(values_, alignment); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  /// Pointer to element i. It must not be read in an empty array.
  [[nodiscard]] Number* from(std::size_t i) const { return n_ == 0 ? values_ : values_ + i; }

 private:
  static constexpr std::align_val_t alignment{4096};
  std::size_t n_;
  Number* values_;
};

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

  SpinBarrier ready_;
  SpinBarrier done_;
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

/// Shortest useful sample. A shorter one mostly measures the clock and the staggered start of
/// threads.
inline constexpr Seconds least_sample{1e-3};

/// The number of passes (over an array, or rounds of arithmetic) in a sample of at least
/// `least_sample`: 1, doubled until samples are long enough on all ranks at once. `pass` runs that
/// many passes on its rank and returns the mean time of one. The fastest of a few tries counts, as
/// interruptions only lengthen a sample. Collective: all ranks get the number of the fastest rank.
int passes_for(backend::Communicator& communicator, const std::function<Seconds(int passes)>& pass);

}  // namespace dlscale::bench
