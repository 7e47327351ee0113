#include "backend/compute/cuda/cudnn/tuning.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <optional>
#include <vector>

#include "backend/compute/cuda/kernels/kernels.hpp"
#include "backend/compute/cuda/runtime/call.hpp"
#include "backend/compute/cuda/runtime/handles.hpp"
#include "core/base/error.hpp"

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

using Times = std::vector<std::optional<Seconds>>;  ///< per candidate; nothing: it is out

std::optional<Fastest> least_of(const Times& times) {
  std::optional<Fastest> best;
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (times[i] && (!best || *times[i] < best->time)) best = Fastest{i, *times[i]};
  }
  return best;
}

bool may_be_fastest(const std::optional<Seconds>& time, const Fastest& least) {
  return time && *time <= out_of_the_question * least.time;
}

/// The shorter time; nothing if the candidate could not run now.
std::optional<Seconds> shorter(const std::optional<Seconds>& now,
                               const std::optional<Seconds>& before) {
  return now && before ? std::min(*now, *before) : now;
}

Times glance_at(std::size_t count, const TimeOfCandidate& time) {
  Times times(count);
  for (std::size_t i = 0; i < count; ++i) times[i] = time(i, Care::glance);
  const auto least = least_of(times);
  for (std::size_t i = 0; least && i < least->index; ++i) {
    if (!times[i] || may_be_fastest(times[i], *least)) continue;
    times[i] = shorter(time(i, Care::glance), times[i]);
  }
  return times;
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

Seconds glance_time(cudaStream_t stream, const std::function<void()>& work) {
  const Event before = make_event();
  const Event after = make_event();
  const Seconds given = host_time(work);  // may compile and load
  wait(stream);
  hold(stream, head_start(given));
  record(before, stream);
  work();
  record(after, stream);
  wait(stream);
  return elapsed(before, after);
}

std::optional<Fastest> fastest(std::size_t count, const TimeOfCandidate& time,
                               const Approval& approve) {
  Times glances = glance_at(count, time);
  while (const auto least = least_of(glances)) {
    Times times(count);
    for (int round = 0; round < rounds; ++round) {
      for (std::size_t i = 0; i < count; ++i) {
        if (!may_be_fastest(glances[i], *least) || (round > 0 && !times[i])) continue;
        times[i] = shorter(time(i, Care::median), times[i]);
      }
    }
    while (const auto best = least_of(times)) {
      if (approve(best->index)) return best;
      times[best->index].reset();
    }
    // None of these is the fastest, so the next ones are candidates after all.
    for (std::optional<Seconds>& each : glances) {
      if (may_be_fastest(each, *least)) each.reset();
    }
  }
  return std::nullopt;
}

std::optional<Fastest> fastest(cudaStream_t stream,
                               const std::vector<std::function<void()>>& candidates,
                               const Approval& approve) {
  const auto time = [&](std::size_t i, Care care) -> std::optional<Seconds> {
    try {
      return care == Care::glance ? glance_time(stream, candidates[i])
                                  : median_time(stream, candidates[i]);
    } catch (const Error&) {  // not offered after all, unless the device itself is broken
      wait(stream);
      return std::nullopt;
    }
  };
  return fastest(candidates.size(), time, approve);
}

}  // namespace dlscale::backend::cuda
