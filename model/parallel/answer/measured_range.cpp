#include "model/parallel/answer/measured_range.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "core/base/log_interpolation.hpp"

namespace dlscale::model::parallel_time {
namespace {

/// ln(measured / predicted) of a point.
double left_at(const Setting& setting, const MeasuredPoint& point) {
  return std::log(point.seconds / predicted_seconds(setting, setting.constants, point));
}

}  // namespace

double measured_factor(const Setting& setting, std::span<const MeasuredPoint> points, double gpus) {
  std::map<double, double> factors;  // by GPUs
  for (const MeasuredPoint& point : points) {
    factors[point.links.gpus] = std::exp(left_at(setting, point));
  }
  return log_interpolated(factors, gpus);
}

TimeRange range_by_points(const TimeRange& before, const ParallelTimeFile& file,
                          const Setting& setting, std::span<const MeasuredPoint> points,
                          double gpus, bool is_measured_plan) {
  const MeasuredConstants& constants = file.measured;
  double squares = 0;
  double doublings = std::numeric_limits<double>::infinity();
  for (const MeasuredPoint& point : points) {
    squares += std::pow(left_at(setting, point), 2);
    doublings = std::min(doublings, std::abs(std::log2(gpus / point.links.gpus)));
  }
  const double deviation = std::log(before.low) / file.interval.low;
  const double correlation =
      constants.correlation * std::pow(constants.correlation_left, doublings);
  const double left = squares / static_cast<double>(points.size());
  const double share = is_measured_plan ? std::min(1.0, doublings) : 1;
  const double variance = (1 - correlation * correlation) * deviation * deviation + left;
  const double factor =
      std::min(constants.widest, std::sqrt(share * variance) / std::abs(deviation));
  const double repeated = is_measured_plan ? std::log1p(constants.repetition) : 0;
  const auto end = [&](double limit) { return std::hypot(factor * std::log(limit), repeated); };
  return {std::exp(-end(before.low)), std::exp(end(before.high))};
}

}  // namespace dlscale::model::parallel_time
