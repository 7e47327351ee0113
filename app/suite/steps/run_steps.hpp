#pragma once
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "app/suite/definition/suite.hpp"
#include "app/suite/definition/suite_progress.hpp"
#include "app/suite/steps/steps_left.hpp"
#include "app/suite/steps/time_budget.hpp"
#include "core/base/error.hpp"

namespace dlscale::app {

/// The folder of the marks of steps (SuiteProgress) as what their processes are known by.
class StepsPlace {
 public:
  explicit StepsPlace(const std::filesystem::path& out) : folder_(out / ".done") {}
  ~StepsPlace();
  StepsPlace(const StepsPlace&) = delete;
  StepsPlace& operator=(const StepsPlace&) = delete;
  [[nodiscard]] std::string of(const SuiteStep& step) const;
  /// Takes the place for this process, and ends the step of an earlier one that was killed. Where
  /// another dlscale has it, or a file system no locks, it ends nothing: what steps write is locked
  /// file by file. Without a mark no step was begun, and there is nothing to take.
  void take();

 private:
  std::filesystem::path folder_;
  int lock_ = -1;
};

/// The lines that say which step comes next and how long the rest will take.
class StepLines {
 public:
  StepLines(const std::vector<SuiteStep>& steps, bool quiet)
      : count_(steps.size()), left_(steps), quiet_(quiet) {}
  void announce(const SuiteStep& step) const;
  /// The step was carried out just now, or in an earlier call.
  void finished(const SuiteStep& step, double seconds);
  void left_out(const SuiteStep& step);

 private:
  std::size_t count_;
  std::size_t number_ = 0;
  TimeLeft left_;
  bool quiet_;
};

/// How a step ended: it did what it was to do; it failed; this machine or build lacks what it
/// needs; or the time budget has no room for it.
enum class StepEnd { done, failed, lacking, out_of_time };

/// The steps of a suite around its cells, in one count. Those that failed in an earlier call come
/// after the others of a suite that keeps going.
class Steps {
 public:
  Steps(const Suite& suite, const SuiteProgress& progress, StepsPlace& place,
        const TimeBudget& budget, bool quiet);
  /// Carries out all steps up to the last one that does not only derive from what others measured.
  void carry_out_measuring();
  void carry_out_rest();
  /// Seconds that the budget has for what measures.
  [[nodiscard]] double room() const { return budget_.left() - kept_; }
  /// Says which were not carried out, and what that means for the exit code.
  [[nodiscard]] ExitCode conclude() const;

 private:
  enum class Turn { first, last };
  struct Missing {
    const SuiteStep* step = nullptr;
    StepEnd why = StepEnd::failed;  ///< of this step, or of the one that it builds upon
  };
  void set_turns();
  void carry_out_until(std::size_t end);
  void carry_out(std::size_t index);
  [[nodiscard]] StepEnd carry_out_next(std::size_t index, double room);
  void leave_out(const SuiteStep& step, const Missing& cause);
  /// The first step that was not carried out and that it builds upon; null if there is none.
  [[nodiscard]] const Missing* what_it_lacks(const SuiteStep& step) const;
  /// Later steps count as not done if they may read what this one writes anew.
  void forget_what_follows(std::size_t index) const;
  [[nodiscard]] std::vector<const SuiteStep*> missing_since(StepEnd why) const;

  const Suite& suite_;
  const std::vector<SuiteStep>& steps_;
  const SuiteProgress& progress_;
  StepsPlace& place_;
  const TimeBudget& budget_;
  const StepsLeft left_;  ///< when this call began
  StepLines line_;
  double kept_;              ///< seconds of the budget for steps that always run
  std::vector<Turn> turns_;  ///< of each step
  std::size_t next_ = 0;
  int measured_ = 0;                 ///< steps that do not always run and are done
  std::vector<std::string> failed_;  ///< names, in this call
  std::vector<Missing> missing_;     ///< steps that were not carried out, whatever the reason
};

}  // namespace dlscale::app
