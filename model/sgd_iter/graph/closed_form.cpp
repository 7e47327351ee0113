#include "model/sgd_iter/graph/closed_form.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <numeric>
#include <span>
#include <vector>

#include "core/base/error.hpp"
#include "core/network/merge.hpp"

namespace dlscale::model {

Seconds iteration_input_prefetched(const IterationParts& parts) {
  return std::max(parts.io, parts.gpu() + parts.comm);
}

Seconds iteration_copied_ahead(const IterationParts& parts) {
  return std::max(
      {parts.io, parts.h2d, parts.forward + parts.backward + parts.comm + parts.update});
}

BackwardWithComm wait_free_closed_form(std::span<const Seconds> backward,
                                       std::span<const Seconds> comm) {
  EXPECT(backward.size() == comm.size());
  const Seconds all_backward = std::accumulate(backward.begin(), backward.end(), Seconds());
  Seconds comm_left = std::accumulate(comm.begin(), comm.end(), Seconds());
  Seconds computed;
  Seconds finish = all_backward;
  for (std::size_t i = 0; i < backward.size(); ++i) {
    computed += backward[i];
    finish = std::max(finish, computed + comm_left);
    comm_left -= comm[i];
  }
  return {finish, finish - all_backward};
}

ContendedBackward contended_backward(std::span<const ContendedPart> parts) {
  ContendedBackward result;
  std::deque<ContendedPart> ready;  // messages of past parts, not yet sent in full
  for (const ContendedPart& part : parts) {
    Seconds left = part.compute;
    while (left > Seconds() && !ready.empty()) {
      ContendedPart& first = ready.front();
      if (first.barrier > Seconds()) {
        const Seconds passed = std::min(first.barrier, left);
        first.barrier -= passed;
        left -= passed;
        result.backward += passed;
        result.hidden += passed;
        continue;
      }
      const auto [s_c, s_m] = part.contention.at(first.kind);
      const bool ends_first = first.message * s_m <= left * s_c;
      const Seconds computed = ends_first ? first.message * (s_m / s_c) : left;
      result.backward += computed * s_c;
      result.hidden += computed * s_c;
      left = ends_first ? left - computed : Seconds();
      first.message -= computed * (s_c / s_m);
      if (ends_first) ready.pop_front();
    }
    result.backward += left;
    if (part.barrier + part.message > Seconds()) ready.push_back(part);
  }
  for (const ContendedPart& part : ready) result.exposed += part.barrier + part.message;
  return result;
}

namespace {

bool is_positive(double value) {
  return std::isfinite(value) && value > 0;
}

}  // namespace

double scaling_efficiency(double speedup, int workers) {
  EXPECT(workers >= 1);
  return speedup / workers;
}

double throughput(int workers, int batch, Seconds iteration) {
  EXPECT(workers >= 1 && batch >= 1 && is_positive(iteration.si()));
  return workers * static_cast<double>(batch) / iteration.si();
}

namespace {

/// Serves the findings of a look: the time of its packs in sequence.
Seconds serve(std::span<const Bytes> found, const Packing& packing, Seconds start, Seconds computed,
              PackedBackward& result) {
  for (const std::size_t count : fuse(found, packing.threshold)) {
    const auto pack = found.first(count);
    const Seconds finish = start + packing.time(std::accumulate(pack.begin(), pack.end(), Bytes()));
    result.messages += finish - start;
    result.hidden += std::max(Seconds(), std::min(finish, computed) - start);
    start = finish;
    found = found.subspan(count);
  }
  return start;
}

/// The first look at or after `ready`, of looks from `next` on.
Seconds look_at_or_after(Seconds ready, Seconds next, Seconds period) {
  if (ready <= next) return next;
  if (period == Seconds()) return ready;
  return std::max(ready, next + std::ceil((ready - next) / period) * period);
}

}  // namespace

PackedBackward packed_recurrence(std::span<const Seconds> backward, std::span<const Bytes> sizes,
                                 const Packing& packing, Seconds last_look) {
  EXPECT(backward.size() == sizes.size());
  Seconds computed;
  std::vector<Seconds> ready;
  std::vector<Bytes> messages;
  for (std::size_t i = 0; i < backward.size(); ++i) {
    computed += backward[i];
    if (sizes[i] == Bytes()) continue;
    ready.push_back(computed);
    messages.push_back(sizes[i]);
  }
  PackedBackward result;
  result.last_look = last_look;
  Seconds done;
  for (std::size_t first = 0; first < ready.size();) {
    const Seconds look =
        first == 0
            ? look_after_rest(last_look, ready.front(), packing.cycle)
            : look_at_or_after(ready[first], std::max(result.last_look + packing.cycle, done),
                               std::max(packing.cycle, packing.looking()));
    std::size_t end = first;
    while (end < ready.size() && ready[end] <= look) ++end;
    done = serve(std::span(messages).subspan(first, end - first), packing, look + packing.looking(),
                 computed, result);
    result.last_look = look;
    first = end;
  }
  result.finish = std::max(done, computed);
  result.exposed = result.finish - computed;
  return result;
}

Seconds gathered_forward(std::span<const GatheredPart> parts, Seconds first_gather, Seconds start) {
  Seconds left;
  for (const GatheredPart& part : parts) left += part.compute;
  Seconds finish = start + left;
  Seconds gathered = first_gather;
  for (const GatheredPart& part : parts) {
    gathered += part.gather;
    finish = std::max(finish, gathered + left);
    left -= part.compute;
  }
  return finish;
}

}  // namespace dlscale::model
