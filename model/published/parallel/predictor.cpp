#include "model/published/parallel/predictor.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/normal_distribution.hpp"
#include "model/parallel/answer/answer.hpp"
#include "model/parallel/answer/fit_chance.hpp"
#include "model/parallel/answer/setting_at_points.hpp"
#include "model/parallel/uncertain/measured_points.hpp"
#include "model/parallel/uncertain/mixture.hpp"
#include "model/published/parallel/training.hpp"

namespace dlscale::model::parallel_time {
namespace {

using cases::CasePrediction;
using cases::PredictedTerm;
using cases::ScalingCase;
using parallel::Recompute;

std::vector<PredictedTerm> terms_of(const ParallelAnswer& answer) {
  const IterationTime& time = answer.time;
  const double m = answer.sizes.micro_batches;
  const double layers = m * time.busiest_layers;
  const auto term = [](std::string name, double seconds) {
    return PredictedTerm{std::move(name), Seconds(std::max(0.0, seconds)), "data sheet"};
  };
  return {term("layers forward", layers * time.layer.layer.forward),
          term("layers backward", layers * time.layer.layer.backward),
          term("tables", m * (time.embedding + time.head)),
          term("bubbles and stage messages", time.pipeline - m * time.slowest_stage),
          term("exposed gradients", time.exposed_gradients),
          term("update", time.update),
          term("allocator", answer.seconds() - time.total)};
}

PossibleTime possible_time(const ParallelAnswer& answer) {
  return {1, answer.seconds(), answer.low(), answer.high()};
}

/// The logarithm of the density of ln `measured` by an answer, normal about its own with another
/// width on either side.
double log_density(const ParallelAnswer& answer, double measured) {
  const double slower = std::log(answer.high() / answer.seconds());
  const double quicker = std::log(answer.seconds() / answer.low());
  const double distance = std::log(measured / answer.seconds());
  const double deviations = distance / (distance > 0 ? slower : quicker) * normal_quantile_95;
  return -0.5 * deviations * deviations - std::log(slower + quicker);
}

/// A training by one way of computing again, after its given points.
struct Way {
  ParallelAnswer answer;
  /// Log-likelihood of the points before they moved anything. Those of one plan err alike, and so
  /// count as one together.
  double of_points = 0;
};

/// Moves constants and the time to what given points say, as `predict --measured` does. Points of
/// its own plan compute as much again as it does. A run that was published without its `recompute`
/// is supposed not to wait for memory. Its memory lacks activations that are `offloaded`, 0 … 1.
Way way_of(const ParallelTimeFile& file, const ParallelTraining& training, Recompute recompute,
           double offloaded = 0) {
  NumberedPlan numbered = training.numbered();
  numbered.offloaded = offloaded;
  numbered.sizes.recompute = numbered.plan.recompute = recompute;
  const bool may_wait = training.is_recompute_known;
  std::vector<MeasuredPoint> points = training.given;
  Way way;
  for (MeasuredPoint& point : points) {
    if (training.is_given_plan) point.plan.recompute = point.schedule.recompute = recompute;
    NumberedPlan there = numbered;
    there.sizes = point.plan;
    there.plan = point.schedule;
    ParallelAnswer before =
        answer_of(file, with_constants(training.setting, training.setting.constants, point.links),
                  there, training.device_bytes);
    if (!may_wait) before.waits = {};
    point.waiting = before.waits.likely;
    point.surprise = surprise_of(point.seconds, before.seconds(), before.low(), before.high());
    way.of_points += log_density(before, point.seconds) / static_cast<double>(points.size());
  }
  SettingAtPoints at{training.setting};
  if (!points.empty()) {
    at = setting_at_points(file, at.setting, points, training.plan, training.is_given_plan);
  }
  way.answer = answer_of(file, at.setting, numbered, training.device_bytes);
  way.answer.range = at.change.range(way.answer.range);
  if (!may_wait) way.answer.waits = {};
  if (training.is_given_plan && !points.empty()) {
    way.answer.waits = way.answer.waits.decided();
  }
  return way;
}

/// The answers for all that may be computed again, weighted by the chance that each fits, and by
/// the likelihood of given points of the plan. Families that offload keep part of the activations
/// in the host's memory unless they compute all again, which hardly slows them. Use alone decides
/// where a training fits in no way, and yet ran.
MixedTime any_recompute(const ParallelTimeFile& file, const ParallelTraining& training) {
  const RecomputeChances& chances = file.recompute;
  const double offloaded = training.setting.family->offloaded;
  const std::array<std::pair<Recompute, double>, 3> recomputes{
      {{Recompute::none, chances.none},
       {Recompute::selective, chances.selective},
       {Recompute::full, chances.full}}};
  std::array<Way, recomputes.size()> ways;
  std::array<PossibleTime, recomputes.size()> times;
  double likeliest = -std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < recomputes.size(); ++i) {
    const auto& [recompute, use] = recomputes[i];
    ways[i] = way_of(file, training, recompute, recompute == Recompute::full ? 0 : offloaded);
    times[i] = possible_time(ways[i].answer);
    const FitQuestion fit = fit_question(ways[i].answer.memory, training.device_bytes);
    times[i].weight = use * (chance_of(fit) + chances.unstated);
    likeliest = std::max(likeliest, ways[i].of_points);
  }
  if (training.is_given_plan) {
    for (std::size_t i = 0; i < times.size(); ++i) {
      times[i].weight *= std::exp(ways[i].of_points - likeliest);
    }
  }
  return mixed_time(times);
}

CasePrediction predict_one(const ParallelTimeFile& file, const DeviceCatalogue& devices,
                           const ScalingCase& training) {
  ParallelTraining read = parallel_training(training, devices, file);
  const Links links = read.setting.collectives.links();
  read.setting = with_constants(
      read.setting, reached_by(*read.setting.family, file.constants_for(training.set)), links);
  return predict_read(file, training, read);
}

}  // namespace

CasePrediction predict_read(const ParallelTimeFile& file, const ScalingCase& training,
                            const ParallelTraining& read) {
  const Way stated = way_of(file, read, read.plan.recompute);
  CasePrediction prediction;
  prediction.id = training.id;
  prediction.unit = cases::CaseUnit::iteration_s;
  prediction.terms = terms_of(stated.answer);
  const PossibleTime possible = possible_time(stated.answer);
  MixedTime time{possible.seconds, possible.low, possible.high};
  if (!read.is_recompute_known) {
    time = any_recompute(file, read);
    prediction.reason =
        "recomputation is unknown: the time is a mean of all kinds, weighed by use and by need of "
        "memory";
  }
  prediction.values = {cases::PredictedValue{time.seconds, time.low, time.high}};
  return prediction;
}

std::vector<CasePrediction> predict(const ParallelTimeFile& file, const DeviceCatalogue& devices,
                                    std::span<const ScalingCase> trainings) {
  std::vector<CasePrediction> predictions;
  predictions.reserve(trainings.size());
  for (const ScalingCase& training : trainings) {
    try {
      predictions.push_back(predict_one(file, devices, training));
    } catch (const ConfigError& error) {
      predictions.push_back(cases::not_covered(training.id, error.what()));
    }
  }
  return predictions;
}

}  // namespace dlscale::model::parallel_time
