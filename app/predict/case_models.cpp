#include "app/predict/case_models.hpp"

#include <fmt/format.h>

#include "core/base/error.hpp"
#include "model/published/curves/predict.hpp"
#include "model/published/scaling/fit/fitted_file.hpp"
#include "model/published/scaling/predictor.hpp"

namespace dlscale::app {
namespace {

/// Refuses a model for curves, since no model is fitted to them.
void expect_no_model(const cases::CaseFile& file, const std::string& model) {
  if (model == model::scaling::usual_scaling) return;
  throw ConfigError(fmt::format(
      "{} holds curves of collectives, each of which is predicted from its own points alone. Leave "
      "--model out.",
      file.path.string()));
}

}  // namespace

std::vector<cases::CasePrediction> predictions_of(const cases::CaseFile& file,
                                                  const std::string& model) {
  if (file.holds_curves()) {
    expect_no_model(file, model);
    return model::predict_curves(file.curves);
  }
  const model::scaling::ScalingFile fitted = model::scaling::load_scaling(model);
  return model::scaling::predict(fitted.fitted, model::scaling::FactSources::load(),
                                 file.trainings);
}

}  // namespace dlscale::app
