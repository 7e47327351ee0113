#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>

namespace dlscale::backend::native_device {

/// Rounds up to a multiple of 16 floats, so that the next thread's memory starts on its own cache
/// line.
constexpr std::int64_t round_up(std::int64_t floats) {
  return (floats + 15) / 16 * 16;
}

/// Calls body(index, thread) for all indices below `count` on `threads` threads, which take a few
/// at a time dynamically; thread < `threads`. Throws the first exception of a body after all others
/// are done.
template <class Body>
void parallel_for(int threads, std::int64_t count, const Body& body) {
  std::exception_ptr failure;
  std::atomic<int> arrived = 0;
  const std::int64_t at_once = std::max<std::int64_t>(1, count / (std::int64_t{16} * threads));
#pragma omp parallel num_threads(threads)
  {
    const int thread = arrived++;
#pragma omp for schedule(dynamic, at_once)
    for (std::int64_t index = 0; index < count; ++index) {
      try {
        body(index, thread);
      } catch (...) {
#pragma omp critical(dlscale_native_failure)
        if (!failure) failure = std::current_exception();
      }
    }
  }
  if (failure) std::rethrow_exception(failure);
}

/// Number of ranges into which parallel_ranges() cuts `count` indices.
constexpr int range_count(int threads, std::int64_t count) {
  return static_cast<int>(std::min<std::int64_t>(threads, count));
}

/// Calls body(first, last, range) for each of range_count() ranges of about equal size. No range is
/// empty. The ranges depend only on `count` and `threads`, so sums by range are reproducible; sums
/// by thread of parallel_for() are not.
template <class Body>
void parallel_ranges(int threads, std::int64_t count, const Body& body) {
  const int ranges = range_count(threads, count);
  parallel_for(threads, ranges, [&](std::int64_t range, int /*thread*/) {
    body(count * range / ranges, count * (range + 1) / ranges, static_cast<int>(range));
  });
}

}  // namespace dlscale::backend::native_device
