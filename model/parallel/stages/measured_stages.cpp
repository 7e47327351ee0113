#include "model/parallel/stages/measured_stages.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/log_interpolation.hpp"
#include "model/parallel/time/constants.hpp"

namespace dlscale::model {
namespace {

/// Measured over predicted times, for so many ranks.
double factor_of_points(std::span<const StagedPoint> points, int ranks) {
  std::map<double, double> factors;  // by ranks
  for (const StagedPoint& point : points) factors[point.ranks] = point.measured / point.predicted;
  return log_interpolated(factors, ranks);
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

TimeFactors narrowed(const TimeFactors& factors, double power) {
  return {std::pow(factors.low, power), std::pow(factors.high, power)};
}

}  // namespace

void meet_points(std::span<const StagedPoint> points, int ranks, bool is_measured_plan,
                 StagedTraining& training) {
  EXPECT(!points.empty());
  const double factor = factor_of_points(points, ranks);
  scale(factor, training);
  training.images_per_s /= factor;
  if (!training.errors) return;
  const parallel_time::MeasuredConstants& constants = parallel_time::parallel_times().measured;
  double doublings = std::numeric_limits<double>::infinity();
  for (const StagedPoint& point : points) {
    doublings = std::min(doublings, std::abs(std::log2(static_cast<double>(ranks) / point.ranks)));
  }
  const double correlation =
      constants.correlation * std::pow(constants.correlation_left, doublings);
  const double share = is_measured_plan ? std::min(1.0, doublings) : 1;
  const double power = std::sqrt(share * (1 - correlation * correlation));
  StageErrors& errors = *training.errors;
  errors.exchange = narrowed(errors.exchange, power);
  errors.pipeline = narrowed(errors.pipeline, power);
  errors.computing = narrowed(errors.computing, power);
  if (!is_measured_plan) return;
  const double repeated = 1 + constants.repetition;
  errors.computing = joined(errors.computing, {1 / repeated, repeated});
}

}  // namespace dlscale::model
