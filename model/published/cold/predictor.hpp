#pragma once
#include <span>
#include <vector>

#include "model/published/cases/prediction.hpp"
#include "model/published/cases/scaling_case.hpp"
#include "model/published/scaling/facts/facts.hpp"
#include "model/published/scaling/fit/fitted_file.hpp"
#include "model/roofline/sheet/kernel_constants.hpp"

namespace dlscale::model::cold {

/// Predicts samples a second of trainings that give no measured point, with a 90 % interval, one
/// prediction a training, in order. The iteration on one GPU by its data sheet (OneGpuTimes)
/// stands for the given point of the model of scaling. Both models use the fit without the
/// training's set, if they were fitted to it.
///
/// The ends of the interval join those of the model of scaling and those that it has at either end
/// of the one-GPU time, as independent errors do: e^(± √(a² + b²)) of their logarithms. Terms are
/// seconds of an iteration; forward, backward and update have the basis "data sheet".
std::vector<cases::CasePrediction> predict(const scaling::FittedScaling& fitted,
                                           const sheet::KernelFile& kernels,
                                           const scaling::FactSources& sources,
                                           std::span<const cases::ScalingCase> trainings);

}  // namespace dlscale::model::cold
