#pragma once
#include <span>
#include <vector>

#include "core/cluster/device_file.hpp"
#include "model/parallel/time/constants.hpp"
#include "model/published/cases/prediction.hpp"
#include "model/published/cases/scaling_case.hpp"
#include "model/published/parallel/training.hpp"

namespace dlscale::model::parallel_time {

/// Predicts seconds of an iteration of trainings beyond data parallelism, with a 90 % interval, one
/// prediction a training, in order. A training that the model does not cover gets a sentence.
/// Terms are seconds of an iteration; layers are those of the slowest stage. A training of a set
/// that `file` was fitted to takes the constants of the fit without that set.
std::vector<cases::CasePrediction> predict(const ParallelTimeFile& file,
                                           const DeviceCatalogue& devices,
                                           std::span<const cases::ScalingCase> trainings);

/// The same for one training that was read, by the constants of its setting and its given points.
cases::CasePrediction predict_read(const ParallelTimeFile& file, const cases::ScalingCase& training,
                                   const ParallelTraining& read);

}  // namespace dlscale::model::parallel_time
