#pragma once
#include <span>
#include <vector>

#include "core/cluster/device_file.hpp"
#include "model/parallel/time/constants.hpp"
#include "model/published/cases/prediction.hpp"
#include "model/published/cases/scaling_case.hpp"

namespace dlscale::model::parallel_time {

/// Predictions of the trainings that have a measured kin: another one of the same set, network,
/// GPU, framework, precision and width of tensor groups, and likewise of one stage or of several.
struct OwnPoints {
  std::vector<cases::CasePrediction> cold = {};   ///< without the kin
  std::vector<cases::CasePrediction> given = {};  ///< with it as a point of the user's own
  /// At the kin's share of the peak: its time in proportion to the samples of a GPU.
  std::vector<cases::CasePrediction> same_share = {};
};

/// The kin of a training is the one half-way round the list of its like, in the order of the file,
/// so that no choice depends on errors. Trainings that are not measured, not covered or wait for
/// memory are left out, with `outcomes` in their order.
OwnPoints predict_by_own_points(const ParallelTimeFile& file, const DeviceCatalogue& devices,
                                std::span<const cases::ScalingCase> trainings,
                                std::span<const cases::Outcome> outcomes);

}  // namespace dlscale::model::parallel_time
