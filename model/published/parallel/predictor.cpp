#include "model/published/parallel/predictor.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <utility>

#include "core/base/error.hpp"
#include "model/parallel/answer/answer.hpp"
#include "model/parallel/answer/measured_range.hpp"
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

/// The answers for all that may be computed again, weighted by the chance that each fits. A run
/// that was published is supposed not to wait for memory.
MixedTime any_recompute(const ParallelTimeFile& file, const ParallelTraining& training) {
  const RecomputeChances& chances = file.recompute;
  const std::array<std::pair<Recompute, double>, 3> recomputes{
      {{Recompute::none, chances.none},
       {Recompute::selective, chances.selective},
       {Recompute::full, chances.full}}};
  std::array<PossibleTime, recomputes.size()> ways;
  double none_need = 0;
  double sum = 0;
  for (std::size_t i = 0; i < recomputes.size(); ++i) {
    NumberedPlan numbered = training.numbered();
    numbered.sizes.recompute = numbered.plan.recompute = recomputes[i].first;
    ParallelAnswer answer = answer_of(file, training.setting, numbered, training.device_bytes);
    answer.waits = {};
    if (i == 0) none_need = answer.need.share;
    ways[i] = possible_time(answer);
    ways[i].weight = recomputes[i].second * chance_to_fit(chances, answer.need.share);
    if (recomputes[i].first == Recompute::full && none_need < chances.ample_need) {
      ways[i].weight *= chances.full_anyway;
    }
    sum += ways[i].weight;
  }
  constexpr double hopeless = 1e-9;
  if (sum < hopeless) ways.back().weight = 1;  // none fits, and full recomputation needs least
  return mixed_time(ways);
}

/// Moves constants to what given points say, and for their own plan a factor on the time, as
/// `predict --measured` does.
void follow_points(const ParallelTimeFile& file, ParallelTraining& training) {
  NumberedPlan numbered = training.numbered();
  for (MeasuredPoint& point : training.given) {
    numbered.sizes = point.plan;
    numbered.plan = point.schedule;
    const Setting there = with_constants(training.setting, training.setting.constants, point.links);
    const ParallelAnswer before = answer_of(file, there, numbered, training.device_bytes);
    point.waiting = before.waits.likely;
    point.is_within = point.seconds >= before.low() && point.seconds <= before.high();
  }
  const Links links = training.setting.collectives.links();
  training.setting = with_constants(
      training.setting, by_measured_points(file, training.setting, training.given), links);
  if (!training.is_given_plan) return;
  training.setting.measured_factor = measured_factor(training.setting, training.given, links.gpus);
}

CasePrediction predict_one(const ParallelTimeFile& file, const DeviceCatalogue& devices,
                           const ScalingCase& training) {
  ParallelTraining read = parallel_training(training, devices, file);
  const Links links = read.setting.collectives.links();
  read.setting = with_constants(read.setting, file.constants_for(training.set), links);
  return predict_read(file, training, std::move(read));
}

}  // namespace

CasePrediction predict_read(const ParallelTimeFile& file, const ScalingCase& training,
                            ParallelTraining read) {
  if (!read.given.empty()) follow_points(file, read);
  ParallelAnswer answer = answer_of(file, read.setting, read.numbered(), read.device_bytes);
  if (!read.given.empty()) {
    answer.range = range_by_points(answer.range, file, read.setting, read.given,
                                   read.setting.collectives.links().gpus, read.is_given_plan);
    if (read.is_given_plan) answer.waits = answer.waits.decided();
  }
  CasePrediction prediction;
  prediction.id = training.id;
  prediction.unit = cases::CaseUnit::iteration_s;
  prediction.terms = terms_of(answer);
  const PossibleTime possible = possible_time(answer);
  MixedTime time{possible.seconds, possible.low, possible.high};
  if (!read.is_recompute_known) {
    time = any_recompute(file, read);
    prediction.reason = "recomputation is unknown: the time is a mean of all that may fit";
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
