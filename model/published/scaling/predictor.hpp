#pragma once
#include <span>
#include <string>
#include <vector>

#include "model/published/cases/prediction.hpp"
#include "model/published/cases/scaling_case.hpp"
#include "model/published/scaling/facts/facts.hpp"
#include "model/published/scaling/fit/fitted_file.hpp"
#include "model/published/scaling/fit/interval.hpp"

namespace dlscale::model::scaling {

/// A training on the GPUs that are asked for.
struct ScaledTraining {
  IntervalTime time = {};                        ///< of an iteration
  std::vector<cases::PredictedTerm> terms = {};  ///< its parts, computing first
  std::vector<std::string> doubts = {};          ///< outside(), a clause each
  std::vector<std::string> notes = {};           ///< TrainingFacts::notes
};

/// Scales a training by a fit, with a wider interval outside of the domain. The facts' given
/// point may be measured or predicted.
ScaledTraining scaled(const Fit& fit, const TrainingFacts& facts);

/// The prediction of a case from that, in samples a second; not covered, if no training can take
/// that time.
cases::CasePrediction prediction_of(const cases::ScalingCase& training,
                                    const ScaledTraining& scaled);

/// Predicts samples a second with a 90 % interval, one prediction a training, in order. If the fit
/// used the training's set, the fit without that set predicts it. Terms are seconds of an iteration
/// and add up to the predicted one. They add up to more if the errors of the fit say that it is too
/// slow, since no time is below zero. Their basis is "measured" (by the given point),
/// "extrapolated" (from it), "fitted" or, where layers are not known, "assumed".
std::vector<cases::CasePrediction> predict(const FittedScaling& fitted, const FactSources& sources,
                                           std::span<const cases::ScalingCase> trainings);

/// The interval outside of the domain, wider by outside_stretch.
IntervalTime stretched(const IntervalTime& time);

}  // namespace dlscale::model::scaling
