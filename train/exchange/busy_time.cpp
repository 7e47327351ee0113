#include "train/exchange/busy_time.hpp"

#include <algorithm>
#include <chrono>
#include <vector>

namespace dlscale::train {
namespace {

/// Converts a sum of whole ticks, which is exactly 0 for transfers entirely inside waits.
Seconds time_of(Instant::duration time) {
  return Seconds(std::chrono::duration<double>(time).count());
}

/// The union of all transfers' intervals.
std::vector<Interval> united(std::span<const Transfer> transfers) {
  std::vector<Interval> all;
  for (const Transfer& transfer : transfers) all.push_back({transfer.start, transfer.end});
  std::ranges::sort(all, {}, &Interval::start);
  std::vector<Interval> joined;
  for (const Interval& next : all) {
    if (!joined.empty() && next.start <= joined.back().end) {
      joined.back().end = std::max(joined.back().end, next.end);
    } else {
      joined.push_back(next);
    }
  }
  return joined;
}

}  // namespace

Seconds busy_before(std::span<const Transfer> transfers, Instant until) {
  Instant::duration sum{};
  for (const Transfer& transfer : transfers) {
    if (transfer.start < until) sum += std::min(transfer.end, until) - transfer.start;
  }
  return time_of(sum);
}

Seconds busy_outside(std::span<const Transfer> transfers, std::span<const Interval> waits) {
  Instant::duration sum{};
  for (const Interval& busy : united(transfers)) {
    sum += busy.end - busy.start;
    for (const Interval& wait : waits) {
      const Instant start = std::max(busy.start, wait.start);
      const Instant end = std::min(busy.end, wait.end);
      if (start < end) sum -= end - start;
    }
  }
  return time_of(sum);
}

}  // namespace dlscale::train
