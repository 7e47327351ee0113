#include "backend/compute/cuda/probes/companion.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/error.hpp"
#include "core/base/interrupt.hpp"

namespace dlscale::backend::cuda {
namespace {

/// Longer than the host takes to enqueue a copy, even when it is delayed.
constexpr Seconds long_enough{1};
constexpr double times_as_long = 10;

struct Round {
  Seconds copy;
  bool was_beside;  ///< until its end
};

Round run(Companion& companion, ::CUstream_st* stream, const std::function<Seconds()>& copy) {
  companion.begin(stream);
  Round round{};
  try {
    round.copy = copy();
    round.was_beside = companion.goes_on();
  } catch (...) {
    companion.end();
    throw;
  }
  companion.end();
  return round;
}

void refuse_in_vain(Seconds lasted, Seconds copy) {
  if (lasted < std::max(long_enough, times_as_long * copy)) return;
  throw Unsupported(fmt::format(
      "nothing runs beside a copy here: what was to go on beside one of {:.3g} s went on for "
      "{:.3g} "
      "s and was over before its end. CUDA_LAUNCH_BLOCKING=1, CUDA_DEVICE_MAX_CONNECTIONS=1 and "
      "tools that let kernels start one by one (compute-sanitizer, ncu) can do that: leave them "
      "out, or measure copies with nothing beside them.",
      copy.si(), lasted.si()));
}

}  // namespace

Seconds time_beside(Companion& companion, ::CUstream_st* stream,
                    const std::function<Seconds()>& copy) {
  while (true) {
    throw_if_interrupted();
    const Round round = run(companion, stream, copy);
    if (round.was_beside) return round.copy;
    refuse_in_vain(companion.lasted(), round.copy);
    companion.lengthen();
  }
}

}  // namespace dlscale::backend::cuda
