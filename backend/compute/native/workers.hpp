#pragma once
#include <omp.h>

#include <cstdint>
#include <exception>

namespace dlscale::backend::native_device {

/// A multiple of 16 floats: where the next thread's memory starts on a line of its own.
constexpr std::int64_t round_up(std::int64_t floats) {
  return (floats + 15) / 16 * 16;
}

/// Calls work(i, thread) for i in [0, count) on up to `threads` threads, each a contiguous share;
/// `thread` is below `threads`. Rethrows the first exception when all are done.
template <class Work>
void share(int threads, std::int64_t count, const Work& work) {
  std::exception_ptr failure;
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1 && count > 1)
  for (std::int64_t i = 0; i < count; ++i) {
    try {
      work(i, omp_get_thread_num());
    } catch (...) {
#pragma omp critical
      failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace dlscale::backend::native_device
