#include "model/parallel/search/reduction.hpp"

#include <algorithm>
#include <iterator>

namespace dlscale::model::parallel_search {
namespace {

void keep_nearest(std::optional<NearestPlan>& nearest, const PlanPoint& point, double excess) {
  const bool is_nearer = !nearest || excess < nearest->excess ||
                         (excess == nearest->excess && is_before(point, nearest->point));
  if (is_nearer) nearest = {point, excess};
}

void add_nearest(std::optional<NearestPlan>& nearest, const std::optional<NearestPlan>& other) {
  if (other) keep_nearest(nearest, other->point, other->excess);
}

}  // namespace

/// The first plan of the front that comes after this one, by both quantities and then by order.
std::vector<PlanPoint>::const_iterator Front::place_of(const PlanPoint& point) const {
  return std::ranges::upper_bound(points_, point,
                                  [this](const PlanPoint& one, const PlanPoint& other) {
                                    if (first_(one) != first_(other))
                                      return first_(one) < first_(other);
                                    if (second_(one) != second_(other))
                                      return second_(one) < second_(other);
                                    return is_before(one, other);
                                  });
}

bool Front::takes(const PlanPoint& point) const {
  const auto after = place_of(point);
  return after == points_.begin() || second_(*std::prev(after)) > second_(point);
}

void Front::offer(const PlanPoint& point) {
  if (!takes(point)) return;
  const auto after = points_.begin() + (place_of(point) - points_.cbegin());
  auto end = after;
  while (end != points_.end() && second_(*end) >= second_(point)) ++end;
  if (after == end) {
    points_.insert(after, point);
  } else {
    *after = point;
    points_.erase(after + 1, end);
  }
}

bool Reduction::would_keep(const PlanPoint& point) const {
  if (!of_split_ || is_before(point, *of_split_)) return true;
  for (std::size_t i = 0; i < by_value_.size(); ++i) {
    const ValueBest* const known =
        value_best(i, value_of(static_cast<Choice>(i), point.plan, point.framework));
    if (known == nullptr || is_before(point, known->best)) return true;
  }
  return memory_front_.takes(point) || energy_front_.takes(point);
}

bool Reduction::would_keep_excess(double excess) const {
  return !nearest_limit_ || excess <= nearest_limit_->excess;
}

void Reduction::offer(const PlanPoint& point) {
  ++timed_;
  if (!of_split_ || is_before(point, *of_split_)) of_split_ = point;
  for (std::size_t i = 0; i < by_value_.size(); ++i) {
    keep_value(i, value_of(static_cast<Choice>(i), point.plan, point.framework), point);
  }
  memory_front_.offer(point);
  energy_front_.offer(point);
}

void Reduction::miss(const PlanPoint& point, double excess) {
  ++missed_;
  keep_nearest(nearest_fit_, point, excess);
}

void Reduction::exceed(const PlanPoint& point, double excess) {
  ++timed_;
  ++exceeded_;
  keep_nearest(nearest_limit_, point, excess);
}

void Reduction::end_split() {
  if (of_split_) of_splits_.push_back(*of_split_);
  of_split_.reset();
}

const ValueBest* Reduction::value_best(std::size_t choice, int value) const {
  const std::vector<ValueBest>& known = by_value_[choice];
  const auto found = std::ranges::find(known, value, &ValueBest::value);
  return found == known.end() ? nullptr : &*found;
}

void Reduction::keep_value(std::size_t choice, int value, const PlanPoint& point) {
  std::vector<ValueBest>& known = by_value_[choice];
  const auto found = std::ranges::find(known, value, &ValueBest::value);
  if (found == known.end()) {
    known.push_back({value, point});
  } else if (is_before(point, found->best)) {
    found->best = point;
  }
}

void Reduction::add(const Reduction& other) {
  timed_ += other.timed_;
  missed_ += other.missed_;
  exceeded_ += other.exceeded_;
  simulated_ += other.simulated_;
  of_splits_.insert(of_splits_.end(), other.of_splits_.begin(), other.of_splits_.end());
  for (std::size_t i = 0; i < by_value_.size(); ++i) {
    for (const ValueBest& each : other.by_value_[i]) keep_value(i, each.value, each.best);
  }
  for (const PlanPoint& point : other.memory_front_.points()) memory_front_.offer(point);
  for (const PlanPoint& point : other.energy_front_.points()) energy_front_.offer(point);
  add_nearest(nearest_fit_, other.nearest_fit_);
  add_nearest(nearest_limit_, other.nearest_limit_);
}

}  // namespace dlscale::model::parallel_search
