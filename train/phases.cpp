#include "train/phases.hpp"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "core/base/error.hpp"

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

Phases::Phases(std::shared_ptr<const backend::Mark> start, Instant when)
    : start_(std::move(start)), when_(when) {}

void Phases::end(std::string_view name, std::shared_ptr<const backend::Mark> mark) {
  phases_.push_back({name, last(), std::move(mark)});
}

Seconds Phases::duration(std::string_view name) const {
  Seconds sum;
  for (const Phase& phase : phases_) {
    if (phase.name == name) sum += phase.end->since(*phase.start);
  }
  return sum;
}

Seconds Phases::total() const {
  return last()->since(*start_);
}

Instant Phases::when(const backend::Mark& mark) const {
  const std::chrono::duration<double> after(mark.since(*start_).si());
  return when_ + std::chrono::duration_cast<Instant::duration>(after);
}

Instant Phases::start_of(std::string_view name) const {
  const auto phase = std::ranges::find(phases_, name, &Phase::name);
  EXPECT(phase != phases_.end());
  return when(*phase->start);
}

std::vector<Interval> Phases::intervals(std::string_view name) const {
  std::vector<Interval> found;
  for (const Phase& phase : phases_) {
    if (phase.name == name) found.push_back({when(*phase.start), when(*phase.end)});
  }
  return found;
}

const std::shared_ptr<const backend::Mark>& Phases::last() const {
  return phases_.empty() ? start_ : phases_.back().end;
}

}  // namespace dlscale::train
