#include "backend/compute/cuda/tuning.hpp"

#include <algorithm>
#include <array>

#include "backend/compute/cuda/call.hpp"
#include "backend/compute/cuda/handles.hpp"
#include "backend/compute/cuda/kernels.hpp"
#include "core/error.hpp"

namespace dlscale::backend::cuda {
namespace {

constexpr std::size_t runs = 5;
/// Longer than the host takes to enqueue all runs.
constexpr Seconds head_start = 200.0_us;

}  // namespace

Seconds median_time(cudaStream_t stream, const std::function<void()>& work) {
  std::array<Event, runs + 1> events;
  for (Event& event : events) event = make_event();
  work();
  hold(stream, head_start);
  record(events.front(), stream);
  for (std::size_t i = 0; i < runs; ++i) {
    work();
    record(events[i + 1], stream);
  }
  check(cudaStreamSynchronize(stream), "cudaStreamSynchronize", "tuning");
  std::array<Seconds, runs> times;
  for (std::size_t i = 0; i < runs; ++i) times[i] = elapsed(events[i], events[i + 1]);
  std::nth_element(times.begin(), times.begin() + runs / 2, times.end());
  return times[runs / 2];
}

std::optional<std::size_t> fastest(cudaStream_t stream,
                                   const std::vector<std::function<void()>>& candidates) {
  std::optional<std::size_t> best;
  Seconds best_time;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    try {
      const Seconds time = median_time(stream, candidates[i]);
      if (!best || time < best_time) {
        best = i;
        best_time = time;
      }
    } catch (const Error&) {  // not offered after all, unless the device itself is broken
      check(cudaStreamSynchronize(stream), "cudaStreamSynchronize", "tuning");
    }
  }
  return best;
}

}  // namespace dlscale::backend::cuda
