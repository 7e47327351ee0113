#include "model/parallel/answer/measured_range.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace dlscale::model::parallel_time {
namespace {

constexpr double shared = 0.8;  ///< correlation of the errors of a plan and of one measured anew
constexpr double again = 0.9;   ///< factor on it for each doubling of GPUs
constexpr double widest = 4;    ///< interval over that before; points beyond it are wrong

}  // namespace

TimeRange range_by_points(const TimeRange& before, const IntervalConstants& constants,
                          const Setting& setting, std::span<const MeasuredPoint> points,
                          double gpus) {
  double squares = 0;
  double doublings = std::numeric_limits<double>::infinity();
  for (const MeasuredPoint& point : points) {
    const double predicted = predicted_seconds(setting, setting.constants, point);
    squares += std::pow(std::log(point.seconds / predicted), 2);
    doublings = std::min(doublings, std::abs(std::log2(gpus / point.links.gpus)));
  }
  const double deviation = std::log(before.low) / constants.low;
  const double correlation = shared * std::pow(again, doublings);
  const double left = squares / static_cast<double>(points.size());
  const double after = std::sqrt((1 - correlation * correlation) * deviation * deviation + left);
  const double factor = std::min(widest, after / deviation);
  return {std::pow(before.low, factor), std::pow(before.high, factor)};
}

}  // namespace dlscale::model::parallel_time
