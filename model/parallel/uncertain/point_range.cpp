#include "model/parallel/uncertain/point_range.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

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

double likeness(const MeasuredConstants& constants, const PlanScale& one, const PlanScale& other) {
  const auto left = [&](double MeasuredConstants::*part, double PlanScale::*number) {
    return std::pow(constants.*part, doublings_between(one.*number, other.*number));
  };
  return constants.correlation * left(&MeasuredConstants::left_gpus, &PlanScale::gpus) *
         left(&MeasuredConstants::left_micro_batch, &PlanScale::micro_batch) *
         left(&MeasuredConstants::left_cuts, &PlanScale::cuts) *
         left(&MeasuredConstants::left_stages, &PlanScale::stages);
}

double surprise_of(double measured, double predicted, double low, double high) {
  const double distance = std::log(measured / predicted);
  return distance / std::log((distance > 0 ? high : low) / predicted);
}

TimeRange PointsChange::range(const TimeRange& before) const {
  const auto end = [&](double limit) { return std::hypot(power * std::log(limit), repetition); };
  return {std::exp(-end(before.low)), std::exp(end(before.high))};
}

PointsChange change_by_points(const MeasuredConstants& constants,
                              std::span<const PredictedPoint> points, double ranks,
                              bool is_measured_plan) {
  EXPECT(!points.empty());
  const PredictedPoint& nearest = *std::ranges::max_element(
      points, {}, [](const auto& point) { return std::pair(point.likeness, point.surprise); });
  double doublings = 1;  // of ranks to a point, at most
  for (const PredictedPoint& point : points) {
    doublings = std::min(doublings, doublings_between(ranks, point.ranks));
  }
  const double alike = nearest.likeness;
  const double wider = std::clamp(nearest.surprise, 1.0, constants.widest);
  const double power = wider * std::sqrt(1 - alike * alike);
  const double factor = measured_factor(points, ranks);
  if (is_measured_plan) {
    return {factor, std::sqrt(doublings) * power, std::log1p(constants.repetition)};
  }
  return {std::pow(factor, alike / std::max(1.0, nearest.surprise)), power, 0};
}

}  // namespace dlscale::model::parallel_time
