#include "report/validation/validate_order.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/error.hpp"

namespace dlscale::report {
namespace {

/// Far below measurement resolution, far above the rounding of equal sums.
constexpr double alike = 1e-9;

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// Sum of products of the deviations of a and b from their means.
double co_moment(std::span<const double> a, std::span<const double> b) {
  const double mean_a = mean(a);
  const double mean_b = mean(b);
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - mean_a) * (b[i] - mean_b);
  return sum;
}

bool is_apart(const ScheduleTime& a, const ScheduleTime& b) {
  return a.high < b.low || b.high < a.low;
}

/// Counts pairs with a known measured order, and those predicted in that order.
void count_pairs(std::span<const ScheduleTime> schedules, ScheduleOrder& order) {
  for (std::size_t i = 0; i < schedules.size(); ++i) {
    for (std::size_t j = i + 1; j < schedules.size(); ++j) {
      if (!is_apart(schedules[i], schedules[j])) continue;
      ++order.pairs_apart;
      const bool slower = schedules[i].low > schedules[j].high;
      const double predicted = order.predicted_ranks[i] - order.predicted_ranks[j];
      if (slower ? predicted > 0 : predicted < 0) ++order.pairs_right;
    }
  }
}

std::size_t first_of_least(const std::vector<double>& ranks) {
  return static_cast<std::size_t>(std::ranges::min_element(ranks) - ranks.begin());
}

}  // namespace

std::vector<double> mean_ranks(std::span<const double> values, double tolerance) {
  std::vector<std::size_t> by_value(values.size());
  std::iota(by_value.begin(), by_value.end(), std::size_t{0});
  std::ranges::stable_sort(by_value, {}, [values](std::size_t i) { return values[i]; });
  std::vector<double> ranks(values.size());
  for (std::size_t first = 0; first < by_value.size();) {
    const double most = values[by_value[first]] * (1 + tolerance);
    std::size_t end = first;
    while (end < by_value.size() && values[by_value[end]] <= most) ++end;
    const double shared = 0.5 * static_cast<double>(first + 1 + end);
    for (; first < end; ++first) ranks[by_value[first]] = shared;
  }
  return ranks;
}

std::optional<double> rank_correlation(std::span<const double> a, std::span<const double> b) {
  EXPECT(a.size() == b.size());
  if (a.size() < 2) return std::nullopt;
  const double spread_a = co_moment(a, a);
  const double spread_b = co_moment(b, b);
  if (spread_a == 0 || spread_b == 0) return std::nullopt;
  return std::clamp(co_moment(a, b) / std::sqrt(spread_a * spread_b), -1.0, 1.0);
}

ScheduleOrder order_of(std::span<const ScheduleTime> schedules) {
  EXPECT(schedules.size() >= 2);
  std::vector<double> measured;
  std::vector<double> predicted;
  for (const ScheduleTime& schedule : schedules) {
    measured.push_back(schedule.measured.si());
    predicted.push_back(schedule.predicted.si());
  }
  ScheduleOrder order;
  order.measured_ranks = mean_ranks(measured);
  order.predicted_ranks = mean_ranks(predicted, alike);
  order.correlation = rank_correlation(order.measured_ranks, order.predicted_ranks);
  count_pairs(schedules, order);
  order.fastest_measured = first_of_least(order.measured_ranks);
  order.fastest_predicted = first_of_least(order.predicted_ranks);
  order.loss = measured[order.fastest_predicted] / measured[order.fastest_measured] - 1;
  return order;
}

}  // namespace dlscale::report
