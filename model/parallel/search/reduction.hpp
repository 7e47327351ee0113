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

/// Keeps of the plans that a search visits what its answer needs. The outcome does not depend on
/// their order, so that threads may share the work.
class Reduction {
 public:
  /// A plan that fits, with all numbers.
  void offer(const PlanPoint& point);
  /// A plan whose memory exceeds the limit by `excess` > 0 bytes, or by an unknown number.
  void miss(const PlanPoint& point, double excess);
  void skip() { ++missed_; }
  /// Ends the plans of one split.
  void end_split();
  /// Adds what another reduction kept.
  void add(const Reduction& other);

  [[nodiscard]] std::size_t timed() const { return timed_; }
  [[nodiscard]] std::size_t missed() const { return missed_; }
  /// The best of each split, in no order.
  [[nodiscard]] const std::vector<PlanPoint>& of_splits() const { return of_splits_; }
  /// The best with each value of a choice, in no order.
  [[nodiscard]] const std::vector<ValueBest>& by_value(Choice choice) const {
    return by_value_[static_cast<std::size_t>(choice)];
  }
  /// Plans that no other beats in score and in memory at its high end, by score.
  [[nodiscard]] const std::vector<PlanPoint>& front() const { return front_; }
  /// The plan that misses the limit by least, and by how many bytes.
  [[nodiscard]] const std::optional<PlanPoint>& nearest() const { return nearest_; }
  [[nodiscard]] double nearest_excess() const { return nearest_excess_; }

 private:
  void keep_values(const PlanPoint& point);
  void keep_front(const PlanPoint& point);
  [[nodiscard]] bool is_beaten(const PlanPoint& point) const;

  std::size_t timed_ = 0;
  std::size_t missed_ = 0;
  std::optional<PlanPoint> of_split_;
  std::vector<PlanPoint> of_splits_;
  std::array<std::vector<ValueBest>, choice_count> by_value_;
  std::vector<PlanPoint> front_;
  std::optional<PlanPoint> nearest_;
  double nearest_excess_ = 0;
};

}  // namespace dlscale::model::parallel_search
