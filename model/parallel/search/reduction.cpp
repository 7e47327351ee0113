#include "model/parallel/search/reduction.hpp"

#include <algorithm>
#include <iterator>

namespace dlscale::model::parallel_search {

void Reduction::offer(const PlanPoint& point) {
  ++timed_;
  if (!of_split_ || is_before(point, *of_split_)) of_split_ = point;
  keep_values(point);
  keep_front(point);
}

void Reduction::miss(const PlanPoint& point, double excess) {
  ++missed_;
  const bool is_nearer = !nearest_ || excess < nearest_excess_ ||
                         (excess == nearest_excess_ && is_before(point, *nearest_));
  if (!is_nearer) return;
  nearest_ = point;
  nearest_excess_ = excess;
}

void Reduction::end_split() {
  if (of_split_) of_splits_.push_back(*of_split_);
  of_split_.reset();
}

void Reduction::keep_values(const PlanPoint& point) {
  for (std::size_t i = 0; i < by_value_.size(); ++i) {
    const int value = value_of(static_cast<Choice>(i), point.plan);
    const auto found = std::ranges::find(by_value_[i], value, &ValueBest::value);
    if (found == by_value_[i].end()) {
      by_value_[i].push_back({value, point});
    } else if (is_before(point, found->best)) {
      found->best = point;
    }
  }
}

/// Whether a point of the front comes before this one and needs no more memory. Points of the front
/// have rising scores and falling needs.
bool Reduction::is_beaten(const PlanPoint& point) const {
  const auto after = std::ranges::upper_bound(front_, point, is_before);
  return after != front_.begin() && std::prev(after)->need.high <= point.need.high;
}

void Reduction::keep_front(const PlanPoint& point) {
  if (is_beaten(point)) return;
  const auto after = std::ranges::upper_bound(front_, point, is_before);
  auto end = after;
  while (end != front_.end() && end->need.high >= point.need.high) ++end;
  if (after == end) {
    front_.insert(after, point);
  } else {
    *after = point;
    front_.erase(after + 1, end);
  }
}

void Reduction::add(const Reduction& other) {
  timed_ += other.timed_;
  of_splits_.insert(of_splits_.end(), other.of_splits_.begin(), other.of_splits_.end());
  for (std::size_t i = 0; i < by_value_.size(); ++i) {
    for (const ValueBest& each : other.by_value_[i]) {
      const auto found = std::ranges::find(by_value_[i], each.value, &ValueBest::value);
      if (found == by_value_[i].end()) {
        by_value_[i].push_back(each);
      } else if (is_before(each.best, found->best)) {
        found->best = each.best;
      }
    }
  }
  for (const PlanPoint& point : other.front_) keep_front(point);
  const std::size_t missed = missed_ + other.missed_;
  if (other.nearest_) miss(*other.nearest_, other.nearest_excess_);
  missed_ = missed;
}

}  // namespace dlscale::model::parallel_search
