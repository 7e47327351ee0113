#pragma once
#include <span>
#include <string>
#include <vector>

#include "model/published/cases/prediction.hpp"
#include "model/published/cases/scaling_case.hpp"
#include "model/published/scaling/facts/facts.hpp"
#include "model/published/scaling/fit/fitted.hpp"
#include "model/published/scaling/fit/interval.hpp"

namespace dlscale::model::scaling {

/// Samples a second with a 90 % interval, one prediction a training, in their order. A training of
/// a set that was fitted to is predicted by the fit without it. Terms are seconds of an iteration
/// and add up to that which is predicted (to more where the errors of the fit say that it is too
/// slow, as no time is below zero); their basis is "measured" (by the given point),
/// "extrapolated" (from it), "fitted" or, where layers are not known, "assumed".
std::vector<cases::CasePrediction> predict(const FittedScaling& fitted, const FactSources& sources,
                                           std::span<const cases::ScalingCase> trainings);

/// Intervals of predictions outside their domain are wider by so much, on a logarithmic scale: a
/// convention, since nothing there was measured that would tell.
inline constexpr double outside_stretch = 1.5;
IntervalTime stretched(const IntervalTime& time);

}  // namespace dlscale::model::scaling
