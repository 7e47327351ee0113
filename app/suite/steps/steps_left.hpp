#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "app/suite/definition/suite.hpp"
#include "app/suite/definition/suite_progress.hpp"

namespace dlscale::app {

/// Of a suite, the step at `first` and those that build upon it, or upon one that does; not those
/// that always run.
std::vector<bool> with_builders(std::span<const SuiteStep> steps, std::size_t first);

/// What is left to do of a suite's steps. A step that is not done takes all later ones along, since
/// they may read what it writes anew. One that failed while the others went on without it takes
/// along only what builds upon it.
class StepsLeft {
 public:
  StepsLeft(std::span<const SuiteStep> steps, const SuiteProgress& progress);
  /// By index, here and below. Never true of a step that always runs.
  [[nodiscard]] bool to_do(std::size_t step) const { return places_[step].to_do; }
  /// The first step that takes this one along; null if it is not done itself, or not to be done.
  [[nodiscard]] const SuiteStep* cause(std::size_t step) const { return places_[step].cause; }
  /// It takes along only what builds upon it.
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
