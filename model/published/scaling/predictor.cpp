#include "model/published/scaling/predictor.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

#include "model/published/scaling/time/scaled_time.hpp"

namespace dlscale::model::scaling {
namespace {

using cases::CasePrediction;
using cases::PredictedTerm;
using cases::PredictedValue;
using cases::ScalingCase;

/// Whether the computing time asked for was measured: alone (on one GPU, or computing only) and at
/// the same batch. [ScalingModel::anchor()]
bool is_measured(const TrainingFacts& facts) {
  const bool is_alone = facts.given.gpus == 1 || facts.given_computes_only;
  return is_alone && facts.given_batch == facts.batch;
}

/// The parts of the time that are > 0, and always computing. The least certain basis of a part
/// counts. Rates of data sheets are multiplied by fitted shares. The times at which gradients are
/// ready are assumed if no layers are known.
std::vector<PredictedTerm> terms_of(const ScaledTime& time, const TrainingFacts& facts,
                                    Seconds predicted) {
  std::vector<PredictedTerm> terms;
  terms.push_back({"compute", time.compute, is_measured(facts) ? "measured" : "extrapolated"});
  const auto add = [&](const char* name, Seconds part, const char* basis) {
    if (part > Seconds()) terms.push_back({name, part, basis});
  };
  const bool ramp = facts.profile.source == TensorSource::ramp;
  add("exposed communication", time.transfer, ramp ? "assumed" : "fitted");
  add("interference of hidden communication", time.interference, ramp ? "assumed" : "fitted");
  add("copies of gradients", time.copies, "fitted");
  add("waiting for the slowest", time.waiting, "fitted");
  add("update and input not in the given point", time.host, "fitted");
  add("what else usually delays", predicted - time.total, "fitted");
  return terms;
}

/// The prediction in samples a second; empty if no training can take that time.
std::optional<PredictedValue> throughput(double global_batch, const IntervalTime& time) {
  const PredictedValue found{global_batch / time.value.si(), global_batch / time.high.si(),
                             global_batch / time.low.si()};
  const bool is_sound = std::isfinite(found.value) && found.value > 0 &&
                        std::isfinite(*found.high) && *found.low > 0 && *found.high >= *found.low;
  if (!is_sound) return {};
  return found;
}

CasePrediction predict_one(const FittedScaling& fitted, const FactSources& sources,
                           const ScalingCase& training) {
  if (const auto reason = not_covered(training)) return cases::not_covered(training.id, *reason);
  CasePrediction prediction =
      prediction_of(training, scaled(fitted.of(training.set), training_facts(training, sources)));
  if (prediction.values.empty()) return prediction;
  const cases::GivenPoint& given = nearest_given(training);
  if (!computes_only(given)) {  // no speed-up over computing alone
    prediction.from = {given.gpus, given.throughput.si(), training.gpus};
  }
  return prediction;
}

}  // namespace

IntervalTime stretched(const IntervalTime& time) {
  const auto end = [&](Seconds from) {
    return time.value * std::pow(from / time.value, outside_stretch);
  };
  return {end(time.low), time.value, end(time.high)};
}

ScaledTraining scaled(const Fit& fit, const TrainingFacts& facts) {
  const ScalingModel model(facts);
  const ScaledTime time = model.judged(fit.parameters);
  ScaledTraining found;
  found.time = with_interval(time, facts, fit.errors);
  found.doubts = outside(facts, fit.domain);
  if (!found.doubts.empty()) found.time = stretched(found.time);
  found.notes = facts.notes;
  found.terms = terms_of(time, facts, found.time.value);
  return found;
}

CasePrediction prediction_of(const ScalingCase& training, const ScaledTraining& scaled) {
  const auto value = throughput(training.global_batch, scaled.time);
  if (!value) {
    return cases::not_covered(training.id, "its figures give no time that an iteration could take");
  }
  CasePrediction prediction;
  prediction.id = training.id;
  if (!scaled.doubts.empty()) prediction.status = cases::PredictionStatus::outside_domain;
  std::vector<std::string> reasons = scaled.doubts;
  reasons.insert(reasons.end(), scaled.notes.begin(), scaled.notes.end());
  prediction.reason = fmt::format("{}", fmt::join(reasons, "; "));
  prediction.values = {value};
  prediction.terms = scaled.terms;
  return prediction;
}

std::vector<CasePrediction> predict(const FittedScaling& fitted, const FactSources& sources,
                                    std::span<const ScalingCase> trainings) {
  std::vector<CasePrediction> predictions;
  predictions.reserve(trainings.size());
  for (const ScalingCase& training : trainings) {
    predictions.push_back(predict_one(fitted, sources, training));
  }
  return predictions;
}

}  // namespace dlscale::model::scaling
