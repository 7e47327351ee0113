#include "regression/history/recorded_points.hpp"

#include <numeric>

namespace dlscale::regression::history {

RecordedPoints::RecordedPoints(std::span<const RunRecord> records) {
  for (const RunRecord& record : records) {
    const auto [place, fresh] = places_.emplace(record.id(), left_.size());
    if (fresh) left_.push_back(0);
    left_[place->second] = record.points;
  }
  series_of_part_0_.assign(left_.size(), 0);
}

void RecordedPoints::begin_series() {
  ++series_;
  other_parts_.clear();
}

Taken RecordedPoints::take(const Point& point) {
  const auto found = places_.find(point.run);
  if (found == places_.end()) return Taken::of_no_run;
  const std::size_t run = found->second;
  if (!is_first(run, point.part)) return Taken::again;
  if (left_[run] > 0) --left_[run];
  return Taken::first;
}

/// Most runs have one point in a series, which takes no set.
bool RecordedPoints::is_first(std::size_t run, int part) {
  if (part != 0) return other_parts_.emplace(run, part).second;
  return std::exchange(series_of_part_0_[run], series_) != series_;
}

std::size_t RecordedPoints::lost() const {
  return std::accumulate(left_.begin(), left_.end(), std::size_t{0});
}

}  // namespace dlscale::regression::history
