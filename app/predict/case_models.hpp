#pragma once
#include <string>
#include <vector>

#include "model/published/cases/case_file.hpp"
#include "model/published/cases/prediction.hpp"

namespace dlscale::app {

/// Predictions of this program's models for the cases of a file, in their order. Trainings use the
/// scaling model that `model` names (in configs/models, or a file); collective curves use the given
/// curves. Throws ConfigError as load_scaling() does.
std::vector<cases::CasePrediction> predictions_of(const cases::CaseFile& file,
                                                  const std::string& model);

}  // namespace dlscale::app
