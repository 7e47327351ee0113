#include "model/parallel/uncertain/point_range.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "core/base/error.hpp"
#include "core/base/log_interpolation.hpp"

namespace dlscale::model::parallel_time {

double measured_factor(std::span<const PredictedPoint> points, double ranks) {
  std::map<double, double> factors;  // by ranks
  for (const PredictedPoint& point : points) {
    factors[point.ranks] = point.measured / point.predicted;
  }
  return log_interpolated(factors, ranks);
}

double doublings_between(double one, double other) {
  return std::abs(std::log2(one / other));
}

double noise_at(const MeasuredConstants& constants, double doublings) {
  return std::hypot(constants.noise, constants.micro_batch * doublings);
}

TimeRange RangeChange::of(const TimeRange& before) const {
  const auto end = [&](double limit) { return std::hypot(power * std::log(limit), repetition); };
  return {std::exp(-end(before.low)), std::exp(end(before.high))};
}

RangeChange change_by_points(const MeasuredConstants& constants,
                             std::span<const PredictedPoint> points, double ranks, double deviation,
                             bool is_measured_plan) {
  EXPECT(!points.empty() && deviation > 0);
  double squares = 0;
  double correlation = 0;
  double doublings = std::numeric_limits<double>::infinity();  // of ranks, to the nearest point
  for (const PredictedPoint& point : points) {
    const double of_ranks = doublings_between(ranks, point.ranks);
    const double common = std::pow(constants.noise / noise_at(constants, point.doublings), 2);
    squares += common * std::pow(point.unexplained, 2);
    correlation = std::max(correlation, common * constants.correlation *
                                            std::pow(constants.correlation_left, of_ranks));
    doublings = std::min(doublings, of_ranks);
  }
  const double left = squares / static_cast<double>(points.size());
  const double share = is_measured_plan ? std::min(1.0, doublings) : 1;
  const double variance = (1 - correlation * correlation) * deviation * deviation + left;
  const bool is_refuted = !std::ranges::all_of(points, &PredictedPoint::is_within);
  const double least = is_refuted && !is_measured_plan ? 1 : 0;
  return {std::clamp(std::sqrt(share * variance) / deviation, least, constants.widest),
          is_measured_plan ? std::log1p(constants.repetition) : 0};
}

}  // namespace dlscale::model::parallel_time
