#pragma once
#include <string>
#include <vector>

#include "core/cases/case_file.hpp"
#include "core/cases/prediction.hpp"

namespace dlscale::app {

/// What the models of this program say of the cases of a file, in their order. `model` is the
/// fitted model of scaling for trainings: a name in configs/models, or a file. Throws ConfigError
/// as load_scaling() does, and for curves of collectives.
std::vector<cases::CasePrediction> predictions_of(const cases::CaseFile& file,
                                                  const std::string& model);

}  // namespace dlscale::app
