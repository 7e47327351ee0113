#pragma once
#include <string>
#include <vector>

#include "app/cli/document_output.hpp"
#include "core/base/error.hpp"
#include "core/text/progress_line.hpp"
#include "model/published/cases/case_file.hpp"
#include "model/published/cases/prediction.hpp"

namespace CLI {
class App;
}

namespace dlscale::app {

/// Options of `predict --cases`: predicts published trainings from a given point of the same
/// series, or from data sheets where there is none.
class PredictCases {
 public:
  /// Adds the options to the verb, which already has all others. Those exclude --cases, except -o.
  void declare(CLI::App& verb);
  /// Whether --cases was given.
  [[nodiscard]] bool are_given() const { return !cases_.empty(); }
  /// Predicts and writes to the one place of `out`.
  [[nodiscard]] ExitCode predict(const DocumentOutput& out) const;

 private:
  std::string cases_;
  std::string model_;
};

/// Predictions of this program's models for the cases of a file, in their order. Trainings use the
/// scaling model that `model` names (in configs/models, or a file), from their given point or from
/// data sheets; collective curves use the given curves. Throws ConfigError as load_scaling() does.
std::vector<cases::CasePrediction> predictions_of(const cases::CaseFile& file,
                                                  const std::string& model,
                                                  ProgressLine::Kind progress);

}  // namespace dlscale::app
