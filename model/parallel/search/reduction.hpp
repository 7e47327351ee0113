#pragma once
#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "model/parallel/search/plan_point.hpp"

namespace dlscale::model::parallel_search {

/// The best plan with one value of a choice.
struct ValueBest {
  int value = 0;
  PlanPoint best = {};
};

/// Plans that no other beats in two quantities, both of which are better where they are less.
class Front {
 public:
  using Quantity = double (*)(const PlanPoint& point);
  Front(Quantity first, Quantity second) : first_(first), second_(second) {}
  void offer(const PlanPoint& point);
  /// Whether no plan of the front beats this one.
  [[nodiscard]] bool takes(const PlanPoint& point) const;
  /// By rising first quantities, and so by falling second ones.
  [[nodiscard]] const std::vector<PlanPoint>& points() const { return points_; }

 private:
  [[nodiscard]] std::vector<PlanPoint>::const_iterator place_of(const PlanPoint& point) const;

  Quantity first_;
  Quantity second_;
  std::vector<PlanPoint> points_;
};

/// A plan that misses a limit by least.
struct NearestPlan {
  PlanPoint point = {};
  double excess = 0;  ///< > 0
};

/// Keeps of the plans that a search visits what its answer needs. The outcome does not depend on
/// their order, so that threads may share the work.
class Reduction {
 public:
  /// Whether offer() would keep a plan for any part of the answer. A plan whose least time is not
  /// kept is not kept with its own time, either.
  [[nodiscard]] bool would_keep(const PlanPoint& point) const;
  /// Whether exceed() would keep such a plan.
  [[nodiscard]] bool would_keep_excess(double excess) const;
  /// A plan that fits and keeps to the limits, with all numbers.
  void offer(const PlanPoint& point);
  /// A plan whose memory exceeds the limit by `excess` > 0 bytes.
  void miss(const PlanPoint& point, double excess);
  /// A plan that fits, whose whole training takes `excess` > 0 times more than a limit.
  void exceed(const PlanPoint& point, double excess);
  /// A pipeline was simulated.
  void count_simulation() { ++simulated_; }
  /// Ends the plans of one split.
  void end_split();
  /// Adds what another reduction kept.
  void add(const Reduction& other);

  [[nodiscard]] std::size_t timed() const { return timed_; }
  [[nodiscard]] std::size_t missed() const { return missed_; }
  [[nodiscard]] std::size_t exceeded() const { return exceeded_; }
  [[nodiscard]] std::size_t simulated() const { return simulated_; }
  /// The best of each split, in no order.
  [[nodiscard]] const std::vector<PlanPoint>& of_splits() const { return of_splits_; }
  /// The best with each value of a choice, in no order.
  [[nodiscard]] const std::vector<ValueBest>& by_value(Choice choice) const {
    return by_value_[static_cast<std::size_t>(choice)];
  }
  /// Plans that no other beats in time and in memory at its high end.
  [[nodiscard]] const Front& memory_front() const { return memory_front_; }
  /// Plans that no other beats in time and energy.
  [[nodiscard]] const Front& energy_front() const { return energy_front_; }
  /// The plan that misses the memory by least.
  [[nodiscard]] const std::optional<NearestPlan>& nearest_fit() const { return nearest_fit_; }
  /// The plan that fits and misses the limits of the whole training by least.
  [[nodiscard]] const std::optional<NearestPlan>& nearest_limit() const { return nearest_limit_; }

 private:
  [[nodiscard]] const ValueBest* value_best(std::size_t choice, int value) const;
  void keep_value(std::size_t choice, int value, const PlanPoint& point);

  std::size_t timed_ = 0;  ///< of them exceeded_ too
  std::size_t missed_ = 0;
  std::size_t exceeded_ = 0;
  std::size_t simulated_ = 0;
  std::optional<PlanPoint> of_split_;
  std::vector<PlanPoint> of_splits_;
  std::array<std::vector<ValueBest>, choice_count> by_value_;
  Front memory_front_{[](const PlanPoint& point) { return point.seconds; },
                      [](const PlanPoint& point) { return point.need.high; }};
  Front energy_front_{[](const PlanPoint& point) { return point.seconds; },
                      [](const PlanPoint& point) { return point.joules; }};
  std::optional<NearestPlan> nearest_fit_;
  std::optional<NearestPlan> nearest_limit_;
};

}  // namespace dlscale::model::parallel_search
