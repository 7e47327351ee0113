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

/// Options of `validate --cases`: predictions scored on published measurements, those of a file or
/// those of the models of this program.
class CaseOptions {
 public:
  /// Adds them to the verb. Options that go only without them are named in `others`.
  void declare(CLI::App& verb, std::initializer_list<const char*> others);
  /// Whether --cases was given.
  [[nodiscard]] bool are_given() const { return !cases_.empty(); }
  /// Scores, prints and judges by the limits.
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
