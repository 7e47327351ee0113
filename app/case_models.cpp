#include "app/case_models.hpp"

#include <fmt/format.h>

#include "core/error.hpp"
#include "model/scaling/fitted_file.hpp"
#include "model/scaling/predictor.hpp"

namespace dlscale::app {
namespace {

[[noreturn]] void refuse_curves(const cases::CaseFile& file) {
  throw ConfigError(fmt::format(
      "{} holds curves of collectives, which no model here predicts. Name a file of trainings, or "
      "score predictions of other programs by dlscale validate --cases --predictions.",
      file.path.string()));
}

}  // namespace

std::vector<cases::CasePrediction> predictions_of(const cases::CaseFile& file,
                                                  const std::string& model) {
  if (file.holds_curves()) refuse_curves(file);
  const model::scaling::ScalingFile fitted = model::scaling::load_scaling(model);
  return model::scaling::predict(fitted.fitted, model::scaling::FactSources::load(),
                                 file.trainings);
}

}  // namespace dlscale::app
