#include "model/parallel/stages/measured_stages.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/normal_distribution.hpp"
#include "model/fits/levenberg.hpp"
#include "model/parallel/time/constants.hpp"
#include "model/parallel/uncertain/point_range.hpp"

namespace dlscale::model {
namespace {

using parallel_time::MeasuredConstants;
using parallel_time::PredictedPoint;

double log_of_point(const StagedPoint& point) {
  return std::log(point.measured / point.predicted);
}

/// The deviation of the logarithm of a time, from its 90 % interval.
double deviation_of(const TimeFactors& factors) {
  return std::log(factors.high / factors.low) / (2 * normal_quantile_95);
}

/// The deviation of the side on which a time is slower, or quicker.
double deviation_towards(const TimeFactors& factors, bool is_slower) {
  return std::log(is_slower ? factors.high : 1 / factors.low) / normal_quantile_95;
}

/// Errors that a plan shares with a measured one: all of its own, computing of another.
struct SharedErrors {
  TimeFactors shared;
  double other = 0;  ///< deviation of the rest, ≥ 0
};
SharedErrors shared_errors(const StageErrors& errors, bool is_measured_plan) {
  if (is_measured_plan) return {errors.all()};
  return {errors.computing, deviation_of(errors.beside_computing())};
}

/// The logarithm of a time whose shared errors are so many deviations slow.
double log_moved(const SharedErrors& errors, double slowness) {
  return slowness * deviation_towards(errors.shared, slowness > 0);
}

/// By how many deviations shared errors are slow, as the points suggest it.
double slowness_by(std::span<const StagedPoint> points, const MeasuredConstants& constants,
                   int micro_batch, bool is_measured_plan) {
  const auto residuals = [&](const std::vector<double>& at) {
    std::vector<double> all{at.front()};
    for (const StagedPoint& point : points) {
      const SharedErrors errors = shared_errors(point.errors, is_measured_plan);
      const double left = log_of_point(point) - log_moved(errors, at.front());
      const double noise =
          noise_at(constants, parallel_time::doublings_between(micro_batch, point.micro_batch));
      all.push_back(robust_residual(left / std::hypot(noise, errors.other), 1));
    }
    return all;
  };
  const double found = least_squares(residuals, {0}).front();
  return std::clamp(found, -constants.greatest_move, constants.greatest_move);
}

void scale(double factor, StagedIteration& iteration) {
  const auto all = [factor](std::vector<Seconds>& times) {
    for (Seconds& time : times) time = factor * time;
  };
  PipelineCosts& costs = iteration.costs;
  for (auto* times : {&costs.forward, &costs.backward, &costs.backward_weights, &costs.boundary,
                      &costs.reduce, &costs.update, &iteration.pipeline.busy}) {
    all(*times);
  }
  StagedParts& parts = iteration.parts;
  for (Seconds* time :
       {&iteration.pipeline.makespan, &iteration.bounds.lower, &iteration.bounds.upper,
        &parts.computing, &parts.unequal, &parts.bubble, &parts.messages, &parts.strips,
        &parts.exchange, &parts.input, &iteration.alone, &iteration.total}) {
    *time = factor * *time;
  }
  for (PartExchange& exchange : iteration.exchanges) {
    exchange.messages = factor * exchange.messages;
    exchange.tail = factor * exchange.tail;
  }
}

}  // namespace

bool StagedPoint::is_within() const {
  const TimeFactors interval = errors.all();
  const double factor = measured / predicted;
  return factor >= interval.low && factor <= interval.high;
}

StagedPoint staged_point(const StagedTraining& before, int ranks, Seconds measured) {
  EXPECT(before.errors);
  return {ranks, measured, before.total, *before.errors, before.micro_batch};
}

void meet_points(std::span<const StagedPoint> points, int ranks, bool is_measured_plan,
                 StagedTraining& training) {
  EXPECT(!points.empty() && training.errors);
  const MeasuredConstants& constants = parallel_time::parallel_times().measured;
  const double slowness = slowness_by(points, constants, training.micro_batch, is_measured_plan);
  std::vector<PredictedPoint> predicted;
  for (const StagedPoint& point : points) {
    predicted.push_back(
        {static_cast<double>(point.ranks), point.measured.si(), point.predicted.si(),
         point.is_within(),
         log_of_point(point) - log_moved(shared_errors(point.errors, is_measured_plan), slowness),
         parallel_time::doublings_between(training.micro_batch, point.micro_batch)});
  }
  StageErrors& errors = *training.errors;
  const double factor = is_measured_plan
                            ? measured_factor(predicted, ranks)
                            : std::exp(log_moved(shared_errors(errors, false), slowness));
  scale(factor, training);
  training.images_per_s /= factor;
  const parallel_time::RangeChange change =
      change_by_points(constants, predicted, ranks, deviation_of(errors.all()), is_measured_plan);
  for (TimeFactors* one : {&errors.computing, &errors.exchange, &errors.pipeline}) {
    *one = {std::pow(one->low, change.power), std::pow(one->high, change.power)};
  }
  errors.computing =
      joined(errors.computing, {std::exp(-change.repetition), std::exp(change.repetition)});
}

}  // namespace dlscale::model
