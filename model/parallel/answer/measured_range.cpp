#include "model/parallel/answer/measured_range.hpp"

#include <cmath>
#include <cstddef>
#include <vector>

namespace dlscale::model::parallel_time {
namespace {

std::vector<PredictedPoint> predicted_points(const Setting& setting,
                                             std::span<const MeasuredPoint> points) {
  std::vector<PredictedPoint> predicted;
  predicted.reserve(points.size());
  for (const MeasuredPoint& point : points) {
    const double seconds = predicted_seconds(setting, setting.constants, point);
    predicted.push_back({point.links.gpus, point.seconds, seconds, point.is_within,
                         std::log(point.seconds / seconds)});
  }
  return predicted;
}

}  // namespace

double measured_factor(const Setting& setting, std::span<const MeasuredPoint> points, double gpus) {
  return measured_factor(predicted_points(setting, points), gpus);
}

TimeRange range_by_points(const TimeRange& before, const ParallelTimeFile& file,
                          const Setting& setting, std::span<const MeasuredPoint> points,
                          double gpus, double micro_batch, bool is_measured_plan) {
  const double deviation = std::log(before.low) / file.interval.low;
  std::vector<PredictedPoint> predicted = predicted_points(setting, points);
  for (std::size_t i = 0; i < points.size(); ++i) {
    predicted[i].doublings = doublings_between(micro_batch, points[i].plan.micro_batch);
  }
  return change_by_points(file.measured, predicted, gpus, deviation, is_measured_plan).of(before);
}

}  // namespace dlscale::model::parallel_time
