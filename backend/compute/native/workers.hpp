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
/// time; thread < `threads`. Throws what a body threw first, after all others are done.
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

}  // namespace dlscale::backend::native_device
