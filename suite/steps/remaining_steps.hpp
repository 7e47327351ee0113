#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "suite/definition/suite.hpp"
#include "suite/steps/suite_progress.hpp"

namespace dlscale::suite {

/// The step at `first` and all steps that build upon it, directly or indirectly; without steps that
/// always run.
std::vector<bool> with_builders(std::span<const SuiteStep> steps, std::size_t first);

/// The remaining steps of a suite. A step that is not done makes all later ones remaining, since
/// they may read what it writes anew. A step that failed while the others ran without it affects
/// only steps that build upon it.
class RemainingSteps {
 public:
  RemainingSteps(std::span<const SuiteStep> steps, const SuiteProgress& progress);
  /// Whether a step has to run; steps are given by index here and below. Never true for a step that
  /// always runs.
  [[nodiscard]] bool to_do(std::size_t step) const { return places_[step].to_do; }
  /// The first step that makes this one remaining; null if this one is itself not done, or need not
  /// run.
  [[nodiscard]] const SuiteStep* cause(std::size_t step) const { return places_[step].cause; }
  /// Whether it affects only steps that build upon it.
  [[nodiscard]] bool alone(std::size_t step) const { return places_[step].alone; }

 private:
  struct Place {
    bool to_do = false;
    bool alone = false;
    const SuiteStep* cause = nullptr;
  };
  std::vector<Place> places_;
};

/// The sum of the estimates of steps that always run, in seconds.
double seconds_to_keep(std::span<const SuiteStep> steps);

/// Prints one line for each step: its name, its estimate, its state, and its command. The state is
/// done, or left to another call by a budget of `budget_s`.
void print_plan(const Suite& suite, const SuiteProgress& progress, double budget_s);

}  // namespace dlscale::suite
