#include "model/published/parallel/predictor.hpp"

#include <algorithm>
#include <string>

#include "core/base/error.hpp"
#include "model/published/parallel/training.hpp"

namespace dlscale::model::parallel_time {
namespace {

using cases::CasePrediction;
using cases::PredictedTerm;
using cases::ScalingCase;

std::vector<PredictedTerm> terms_of(const IterationTime& time, const PlanSizes& plan) {
  const double m = plan.micro_batches;
  const double layers = m * time.busiest_layers;
  const auto term = [](std::string name, double seconds) {
    return PredictedTerm{std::move(name), Seconds(std::max(0.0, seconds)), "data sheet"};
  };
  return {term("layers forward", layers * time.layer.layer.forward),
          term("layers backward", layers * time.layer.layer.backward),
          term("tables", m * (time.embedding + time.head)),
          term("bubbles and stage messages", time.pipeline - m * time.slowest_stage),
          term("exposed gradients", time.exposed_gradients),
          term("update", time.update)};
}

CasePrediction predict_one(const ParallelTimeFile& file, const DeviceCatalogue& devices,
                           const ScalingCase& training) {
  const ParallelTraining read = parallel_training(training, devices, file);
  const IterationTime time = iteration_time(read.setting, read.plan);
  const TimeRange range = time_range(file.interval, read.setting, read.plan, time, read.interval);
  CasePrediction prediction;
  prediction.id = training.id;
  prediction.unit = cases::CaseUnit::iteration_s;
  prediction.values = {
      cases::PredictedValue{time.total, range.low * time.total, range.high * time.total}};
  prediction.terms = terms_of(time, read.plan);
  return prediction;
}

}  // namespace

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
