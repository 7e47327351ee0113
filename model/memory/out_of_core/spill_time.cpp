#include "model/memory/out_of_core/spill_time.hpp"

#include <algorithm>

#include "core/base/error.hpp"

namespace dlscale::model {
namespace {

/// The choice for the tensors that a layer releases.
struct Released {
  Bytes kept;
  Bytes swapped;
  Seconds out;
  Seconds in;
  Seconds recompute;
};

std::vector<Released> by_layer(const SpilledTraining& training,
                               std::span<const SpillChoice> choices, const HostLink& link) {
  std::vector<Released> released(training.layers.size());
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const SpillTensor& tensor = training.tensors[i];
    Released& at = released[tensor.released];
    switch (choices[i]) {
      case SpillChoice::keep:
        at.kept += tensor.size;
        break;
      case SpillChoice::swap:
        EXPECT(tensor.may_move);
        at.swapped += tensor.size;
        at.out += link.out(tensor.size);
        at.in += link.in(tensor.size);
        break;
      case SpillChoice::recompute:
        EXPECT(tensor.recompute.has_value());
        at.recompute += *tensor.recompute;
        break;
    }
  }
  return released;
}

/// Forward, in which copies to the host lag at most `steps` steps behind.
Seconds forward_time(const SpilledTraining& training, const std::vector<Released>& released,
                     int steps) {
  Seconds now;
  Seconds link;
  std::vector<Seconds> sent(released.size());
  for (std::size_t k = 0; k < released.size(); ++k) {
    const Seconds start = now;
    now += training.layers[k].forward;
    if (steps == 0) {
      now += released[k].out;
      continue;
    }
    if (released[k].swapped > Bytes()) link = std::max(link, start) + released[k].out;
    sent[k] = link;
    const auto lag = static_cast<std::size_t>(steps - 1);
    if (k >= lag) now = std::max(now, sent[k - lag]);
  }
  return now;
}

/// Backward, in which copies to the device begin at most `steps` steps ahead.
Seconds backward_time(const SpilledTraining& training, const std::vector<Released>& released,
                      int steps) {
  Seconds now;
  Seconds link;
  std::size_t next = released.size();  // copies from here on have begun
  std::vector<Seconds> here(released.size());
  const auto begin_until = [&](std::size_t least) {
    while (next > least) {
      --next;
      if (released[next].swapped > Bytes()) link = std::max(link, now) + released[next].in;
      here[next] = link;
    }
  };
  for (std::size_t k = released.size(); k-- > 0;) {
    if (released[k].swapped > Bytes()) {
      if (steps == 0) now += released[k].in;
      if (steps > 0) now = std::max(now, here[k]);
    }
    if (steps > 0) begin_until(k - std::min(k, static_cast<std::size_t>(steps)));
    now += training.layers[k].backward + released[k].recompute;
  }
  return now;
}

/// By layer, tensors that were released but that forward still uses, if they are not kept.
std::vector<Bytes> used_later(const SpilledTraining& training,
                              std::span<const SpillChoice> choices) {
  std::vector<Bytes> used(training.layers.size());
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (choices[i] == SpillChoice::keep) continue;
    const SpillTensor& tensor = training.tensors[i];
    for (std::size_t at = tensor.released + 1; at <= tensor.last_forward; ++at) {
      used[at] += tensor.size;
    }
  }
  return used;
}

Bytes peak_of(const SpilledTraining& training, std::span<const SpillChoice> choices,
              const std::vector<Released>& released, int steps) {
  const std::vector<Bytes> used = used_later(training, choices);
  Bytes most;
  Bytes waiting;  // kept tensors that no step uses now
  const auto on_its_way = [&](std::size_t k, std::size_t reach) {
    Bytes sum;
    for (std::size_t back = 1; back <= std::min(k, reach); ++back) {
      sum += released[k - back].swapped;
    }
    return sum;
  };
  const auto ahead = static_cast<std::size_t>(steps);
  const std::size_t behind = ahead > 0 ? ahead - 1 : 0;
  for (std::size_t k = 0; k < released.size(); ++k) {
    const SpillLayer& layer = training.layers[k];
    most = std::max(most, waiting + layer.live_forward + used[k] + on_its_way(k, behind));
    most = std::max(most, waiting + layer.live_backward + on_its_way(k, ahead));
    waiting += released[k].kept;
  }
  return training.fixed + most;
}

}  // namespace

SpillTime spill_time(const SpilledTraining& training, std::span<const SpillChoice> choices,
                     const HostLink& link, SpillDistance distance) {
  EXPECT(choices.size() == training.tensors.size() && distance.steps >= 0);
  const std::vector<Released> released = by_layer(training, choices, link);
  SpillTime time;
  for (const Released& at : released) {
    time.swapped += at.swapped;
    time.recomputing += at.recompute;
  }
  time.total = forward_time(training, released, distance.steps) +
               backward_time(training, released, distance.steps) + training.update;
  constexpr double rounding = 1e-9;
  const Seconds busy = training.compute() + time.recomputing;
  time.stall = time.total - busy > rounding * busy ? time.total - busy : Seconds();
  time.peak = peak_of(training, choices, released, distance.steps);
  return time;
}

}  // namespace dlscale::model
