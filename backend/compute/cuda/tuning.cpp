#include "backend/compute/cuda/tuning.hpp"

#include <algorithm>
#include <array>
#include <chrono>

#include "backend/compute/cuda/call.hpp"
#include "backend/compute/cuda/handles.hpp"
#include "backend/compute/cuda/kernels.hpp"
#include "core/error.hpp"

namespace dlscale::backend::cuda {
namespace {

constexpr std::size_t runs = 5;
constexpr int rounds = 2;

void wait(cudaStream_t stream) {
  check(cudaStreamSynchronize(stream), "cudaStreamSynchronize", "tuning");
}

Seconds host_time(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  return Seconds(taken.count());
}

}  // namespace

Seconds head_start(Seconds given) {
  constexpr Seconds longest = 20.0_ms;
  return std::min(longest, 50.0_us + 2 * given);
}

Seconds median_time(cudaStream_t stream, const std::function<void()>& work) {
  std::array<Event, runs + 1> events;
  for (Event& event : events) event = make_event();
  work();  // may compile and load
  wait(stream);
  const Seconds given = host_time(work);
  hold(stream, head_start(static_cast<double>(runs) * given));
  record(events.front(), stream);
  for (std::size_t i = 0; i < runs; ++i) {
    work();
    record(events[i + 1], stream);
  }
  wait(stream);
  std::array<Seconds, runs> times;
  for (std::size_t i = 0; i < runs; ++i) times[i] = elapsed(events[i], events[i + 1]);
  std::nth_element(times.begin(), times.begin() + runs / 2, times.end());
  return times[runs / 2];
}

std::optional<Fastest> fastest(std::size_t count, const TimeOfCandidate& time) {
  std::vector<std::optional<Seconds>> least(count);
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < count; ++i) {
      if (round > 0 && !least[i]) continue;
      const std::optional<Seconds> taken = time(i);
      least[i] = taken && least[i] ? std::min(*taken, *least[i]) : taken;
    }
  }
  std::optional<Fastest> best;
  for (std::size_t i = 0; i < count; ++i) {
    if (least[i] && (!best || *least[i] < best->time)) best = Fastest{i, *least[i]};
  }
  return best;
}

std::optional<Fastest> fastest(cudaStream_t stream,
                               const std::vector<std::function<void()>>& candidates) {
  return fastest(candidates.size(), [&](std::size_t i) -> std::optional<Seconds> {
    try {
      return median_time(stream, candidates[i]);
    } catch (const Error&) {  // not offered after all, unless the device itself is broken
      wait(stream);
      return std::nullopt;
    }
  });
}

}  // namespace dlscale::backend::cuda
