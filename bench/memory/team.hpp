#pragma once
#include <barrier>
#include <cstddef>
#include <functional>
#include <thread>
#include <vector>

#include "core/units.hpp"

namespace dlscale::bench {

/// Threads that do the same thing on their parts of an array at the same time. The caller is
/// thread 0; the others wait between two calls.
class Team {
 public:
  explicit Team(int threads);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  /// Calls work(thread) on every thread at once; returns the time from when all stood ready until
  /// all were done. `work` must not throw.
  Seconds run(const std::function<void(int)>& work);
  [[nodiscard]] int size() const { return static_cast<int>(helpers_.size()) + 1; }

 private:
  void help(int thread);

  std::barrier<> ready_;
  std::barrier<> done_;
  const std::function<void(int)>* work_ = nullptr;  ///< null: time to go
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
