#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "app/suite/definition/suite.hpp"
#include "app/suite/definition/suite_progress.hpp"

namespace dlscale::app {

/// The step at `first` and all steps that build upon it, directly or indirectly; without steps that
/// always run.
std::vector<bool> with_builders(std::span<const SuiteStep> steps, std::size_t first);

/// The remaining steps of a suite. A step that is not done makes all later ones remaining, since
/// they may read what it writes anew. A step that failed while the others ran without it affects
/// only steps that build upon it.
class StepsLeft {
 public:
  StepsLeft(std::span<const SuiteStep> steps, const SuiteProgress& progress);
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

}  // namespace dlscale::app
