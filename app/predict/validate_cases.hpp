#pragma once
#include <initializer_list>
#include <string>

#include "app/cli/document_output.hpp"
#include "core/base/error.hpp"
#include "model/published/cases/case_file.hpp"
#include "report/score/judged_case.hpp"
#include "report/score/score_report.hpp"

namespace CLI {
class App;
}

namespace dlscale::app {

/// Options of `validate --cases`: scores predictions on published measurements. They come from a
/// file or from the models of this program.
class CaseOptions {
 public:
  /// Adds the options to the verb. `others` names the options that exclude --cases.
  void declare(CLI::App& verb, std::initializer_list<const char*> others);
  /// Whether --cases was given.
  [[nodiscard]] bool are_given() const { return !cases_.empty(); }
  /// Scores and prints the predictions, and judges them by the limits.
  [[nodiscard]] ExitCode validate(const DocumentOutput& output) const;

 private:
  [[nodiscard]] report::ScoreLimits limits() const;
  [[nodiscard]] report::CaseChoice choice() const;
  [[nodiscard]] report::NamedPredictions predictions(const cases::CaseFile& file) const;

  std::string cases_;
  std::string predictions_;
  std::string model_;
  std::string nodes_;
  std::string coverage_;
  report::CaseChoice choice_;
  report::ScoreLimits limits_;
};

}  // namespace dlscale::app
