#pragma once
#include <string>
#include <vector>

#include "model/published/cases/case_file.hpp"
#include "model/published/cases/prediction.hpp"

namespace dlscale::app {

/// What the models of this program say of the cases of a file, in their order: of trainings the
/// model of scaling that `model` names (in configs/models, or a file), of curves of collectives the
/// curves that are given. Throws ConfigError as load_scaling() does.
std::vector<cases::CasePrediction> predictions_of(const cases::CaseFile& file,
                                                  const std::string& model);

}  // namespace dlscale::app
