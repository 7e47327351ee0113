#include "model/parallel/stages/measured_stages.hpp"

#include <cmath>
#include <vector>

#include "core/base/error.hpp"
#include "model/parallel/time/constants.hpp"

namespace dlscale::model {
namespace {

using parallel_time::PlanScale;
using parallel_time::PredictedPoint;

void stretch(double factor, StagedIteration& iteration) {
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

PlanScale scale_of(const parallel::ParallelPlan& plan, const StagedTraining& training) {
  return {static_cast<double>(plan.data * plan.context * plan.stages),
          static_cast<double>(training.micro_batch), static_cast<double>(plan.context),
          static_cast<double>(plan.stages)};
}

parallel::ParallelPlan without_batches_and_cut(parallel::ParallelPlan plan) {
  plan.micro_batch.reset();
  plan.micro_batches.reset();
  plan.stage_layers.clear();
  return plan;
}

}  // namespace

StagedPoint staged_point(const parallel::ParallelPlan& plan, const StagedTraining& before,
                         Seconds measured) {
  EXPECT(before.errors);
  return {scale_of(plan, before), measured, before.total,
          parallel_time::surprise_of(measured.si(), before.total.si(), before.low().si(),
                                     before.high().si())};
}

bool is_same_training(const parallel::ParallelPlan& one, const StagedTraining& one_predicted,
                      const parallel::ParallelPlan& other, const StagedTraining& other_predicted) {
  return without_batches_and_cut(one) == without_batches_and_cut(other) &&
         one_predicted.shape == other_predicted.shape &&
         one_predicted.micro_batch == other_predicted.micro_batch &&
         one_predicted.layers == other_predicted.layers;
}

void meet_points(std::span<const StagedPoint> points, const parallel::ParallelPlan& plan,
                 bool is_measured_plan, StagedTraining& training) {
  EXPECT(training.errors);
  const auto& constants = parallel_time::parallel_times().measured;
  const PlanScale scale = scale_of(plan, training);
  std::vector<PredictedPoint> predicted;
  for (const StagedPoint& point : points) {
    predicted.push_back({point.scale.gpus, point.measured.si(), point.predicted.si(),
                         point.surprise, likeness(constants, point.scale, scale)});
  }
  const auto change = change_by_points(constants, predicted, scale.gpus, is_measured_plan);
  stretch(change.factor, training);
  training.images_per_s /= change.factor;
  StageErrors& errors = *training.errors;
  for (TimeFactors* one : {&errors.computing, &errors.exchange, &errors.pipeline}) {
    *one = {std::pow(one->low, change.power), std::pow(one->high, change.power)};
  }
  errors.computing =
      joined(errors.computing, {std::exp(-change.repetition), std::exp(change.repetition)});
}

}  // namespace dlscale::model
