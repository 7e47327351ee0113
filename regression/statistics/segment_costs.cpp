#include "regression/statistics/segment_costs.hpp"

#include <algorithm>
#include <numeric>

namespace dlscale::regression {
namespace {

/// The sorted points from one start on; the last in time is removed next.
class SortedStretch {
 public:
  SortedStretch(std::span<const double> values, std::span<const std::size_t> order,
                std::span<const std::size_t> rank, std::size_t first)
      : values_(values), rank_(rank), before_(values.size()), after_(values.size()) {
    std::size_t last = none;
    for (const std::size_t point : order) {
      if (point < first) continue;
      before_[point] = last;
      if (last != none) after_[last] = point;
      last = point;
      total_ += values[point];
      if (count_++ == 0) middle_ = point;
    }
    after_[last] = none;
    lower_ = values[middle_];
    for (std::size_t i = 0; i < (count_ - 1) / 2; ++i) step_up();
  }

  [[nodiscard]] double cost() const {
    const double centre = count_ % 2 == 1 ? values_[middle_] : 0;
    return std::max(0.0, total_ - 2 * lower_ + centre);
  }

  /// Keeps `middle_` the lower median, and `lower_` the sum of all values up to it.
  void remove(std::size_t point) {
    const bool odd = count_ % 2 == 1;
    const bool in_lower = rank_[point] <= rank_[middle_];
    if (odd && (!in_lower || point == middle_)) {
      lower_ -= values_[middle_];
      middle_ = before_[middle_];
    } else if (in_lower) {
      lower_ -= values_[point];
      if (!odd) step_up();
    }
    total_ -= values_[point];
    --count_;
    if (before_[point] != none) after_[before_[point]] = after_[point];
    if (after_[point] != none) before_[after_[point]] = before_[point];
  }

 private:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  void step_up() {
    middle_ = after_[middle_];
    lower_ += values_[middle_];
  }

  std::span<const double> values_;
  std::span<const std::size_t> rank_;
  std::vector<std::size_t> before_;
  std::vector<std::size_t> after_;
  std::size_t middle_ = none;
  std::size_t count_ = 0;
  double total_ = 0;
  double lower_ = 0;
};

}  // namespace

SegmentCosts::SegmentCosts(std::span<const double> values)
    : n_(values.size()), costs_(n_ * n_, 0.0) {
  std::vector<std::size_t> order(n_);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [values](std::size_t i) { return values[i]; });
  std::vector<std::size_t> rank(n_);
  for (std::size_t i = 0; i < n_; ++i) rank[order[i]] = i;
  for (std::size_t first = 0; first < n_; ++first) {
    SortedStretch stretch(values, order, rank, first);
    for (std::size_t end = n_; end > first + 1; --end) {
      costs_[(end - 1) * n_ + first] = stretch.cost();
      stretch.remove(end - 1);
    }
  }
}

}  // namespace dlscale::regression
