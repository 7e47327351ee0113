#include "model/published/cold/predictor.hpp"

#include <cmath>
#include <string>
#include <utility>
#include <variant>

#include "model/published/cold/step.hpp"
#include "model/published/cold/training.hpp"
#include "model/published/scaling/predictor.hpp"

namespace dlscale::model::cold {
namespace {

using cases::CasePrediction;
using cases::PredictedTerm;
using cases::ScalingCase;
using scaling::IntervalTime;
using scaling::ScaledTraining;

/// e^(± √(a² + b²)) for the logarithms a and b of two factors on the same side of 1.
double joined(double one, double other) {
  const double length = std::hypot(std::log(one), std::log(other));
  return std::exp(other < 1 || one < 1 ? -length : length);
}

/// Computing by its parts, in place of computing as a whole.
std::vector<PredictedTerm> terms_of(const OneGpuStep& step, std::vector<PredictedTerm> terms) {
  const Seconds compute = terms.front().time;
  const double share = compute / step.total();
  std::vector<PredictedTerm> all;
  for (const auto& [name, time] :
       {std::pair("forward", step.forward), std::pair("backward", step.backward),
        std::pair("update", step.update)}) {
    all.push_back({name, share * time, "data sheet"});
  }
  all.insert(all.end(), std::make_move_iterator(terms.begin() + 1),
             std::make_move_iterator(terms.end()));
  return all;
}

/// The prediction of a training from one GPU that takes `iteration`.
ScaledTraining scaled_from(const ScalingCase& training, Seconds iteration, const scaling::Fit& fit,
                           const scaling::FactSources& sources) {
  return scaling::scaled(fit, scaling::training_facts(with_given(training, iteration), sources));
}

CasePrediction predict_one(const scaling::Fit& fit, const sheet::KernelConstants& constants,
                           const scaling::FactSources& sources, const ScalingCase& training,
                           NetworkFiles& networks) {
  const auto found = cold_training(training, sources, networks);
  if (const Reason* reason = std::get_if<Reason>(&found)) {
    return cases::not_covered(training.id, *reason);
  }
  const OneGpuStep step = OneGpuTimes(std::get<ColdTraining>(found)).step(constants);
  ScaledTraining scaled = scaled_from(training, step.total(), fit, sources);
  const auto end = [&](double factor) {
    return scaled_from(training, factor * step.total(), fit, sources).time.value /
           scaled.time.value;
  };
  const Seconds value = scaled.time.value;
  scaled.time.low = joined(scaled.time.low / value, end(step.range.low)) * value;
  scaled.time.high = joined(scaled.time.high / value, end(step.range.high)) * value;
  scaled.terms = terms_of(step, std::move(scaled.terms));
  if (training.gpus == 1) scaled.doubts.clear();  // nothing is scaled
  return scaling::prediction_of(training, scaled);
}

}  // namespace

std::vector<CasePrediction> predict(const scaling::FittedScaling& fitted,
                                    const sheet::KernelFile& kernels,
                                    const scaling::FactSources& sources,
                                    std::span<const ScalingCase> trainings) {
  NetworkFiles networks;
  std::vector<CasePrediction> predictions;
  predictions.reserve(trainings.size());
  for (const ScalingCase& training : with_micro_batches(trainings)) {
    const auto without = kernels.without.find(training.set);
    predictions.push_back(
        predict_one(fitted.of(training.set),
                    without == kernels.without.end() ? kernels.constants : without->second, sources,
                    training, networks));
  }
  return predictions;
}

}  // namespace dlscale::model::cold
