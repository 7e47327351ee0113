#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/text/progress_line.hpp"
#include "suite/definition/suite.hpp"
#include "suite/job/job.hpp"
#include "suite/steps/remaining_steps.hpp"
#include "suite/steps/suite_progress.hpp"

namespace dlscale::suite {

/// The outcome of a step: done; failed; this machine or build lacks what it needs; or the time
/// budget has no room for it.
enum class StepEnd { done, failed, lacking, out_of_time };

/// The steps of a suite before and after its cells, counted together. If the suite keeps going,
/// steps that failed in an earlier call run last.
class Steps {
 public:
  Steps(const Suite& suite, SuiteProgress& progress, const TimeBudget& budget, bool quiet);
  /// Runs all steps up to the last one that measures instead of only deriving results.
  void carry_out_measuring();
  void carry_out_rest();
  /// Seconds of the budget for steps that measure.
  [[nodiscard]] double room() const { return budget_.left() - kept_; }
  /// Reports the steps that did not run, and returns the resulting exit code.
  [[nodiscard]] ExitCode conclude() const;

 private:
  enum class Turn { first, last };
  struct Missing {
    const SuiteStep* step = nullptr;
    StepEnd why = StepEnd::failed;  ///< reason of this step, or of the one that it builds upon
  };
  void set_turns();
  void carry_out_until(std::size_t end);
  void carry_out(std::size_t index);
  [[nodiscard]] StepEnd carry_out_next(std::size_t index, double room);
  /// Counts a step that does not run, for a reason of its own or of one that it builds upon.
  void leave_out(const SuiteStep& step, StepEnd why);
  /// The first missing step that this one builds upon; null if there is none.
  [[nodiscard]] const Missing* what_it_lacks(const SuiteStep& step) const;
  /// Marks later steps as not done if they may read what this one writes anew.
  void forget_what_follows(std::size_t index) const;
  [[nodiscard]] std::vector<const SuiteStep*> missing_since(StepEnd why) const;

  const Suite& suite_;
  const std::vector<SuiteStep>& steps_;
  SuiteProgress& progress_;
  const TimeBudget& budget_;
  const RemainingSteps left_;  ///< remaining steps when this call began
  TimeLeft time_left_;
  std::size_t settled_ = 0;  ///< steps that were completed or left out
  bool quiet_;
  double kept_;              ///< seconds of the budget for steps that always run
  std::vector<Turn> turns_;  ///< turn of each step
  std::size_t next_ = 0;
  int measured_ = 0;                 ///< completed steps, except those that always run
  std::vector<std::string> failed_;  ///< names of steps that failed in this call
  std::vector<Missing> missing_;     ///< steps that did not run, for any reason
};

}  // namespace dlscale::suite
