#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>

namespace dlscale::backend::native_device {

/// A multiple of 16 floats: where the next thread's memory starts on a line of its own.
constexpr std::int64_t round_up(std::int64_t floats) {
  return (floats + 15) / 16 * 16;
}

/// body(index, thread) for all indices below `count`, on `threads` threads that take a few at a
/// time, whichever is free; thread < `threads`. Throws what a body threw first, after all others
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

/// How many ranges parallel_ranges() cuts `count` indices into.
constexpr int range_count(int threads, std::int64_t count) {
  return static_cast<int>(std::min<std::int64_t>(threads, count));
}

/// body(first, last, range) for each of range_count() ranges of about equal size, which `count` and
/// `threads` alone decide: sums by range come out alike every time, those by thread of
/// parallel_for() do not. No range is empty.
template <class Body>
void parallel_ranges(int threads, std::int64_t count, const Body& body) {
  const int ranges = range_count(threads, count);
  parallel_for(threads, ranges, [&](std::int64_t range, int /*thread*/) {
    body(count * range / ranges, count * (range + 1) / ranges, static_cast<int>(range));
  });
}

}  // namespace dlscale::backend::native_device
