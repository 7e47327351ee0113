#pragma once
#include <chrono>
#include <span>

#include "app/suite/definition/suite.hpp"
#include "app/suite/definition/suite_progress.hpp"

namespace dlscale::app {

/// The time limit of one call of a suite. It reserves the estimates of steps that always run, since
/// they derive results from the others' measurements.
class TimeBudget {
 public:
  /// The budget in seconds from now; infinite: no limit.
  explicit TimeBudget(double seconds) : seconds_(seconds) {}
  [[nodiscard]] double left() const {
    return seconds_ - std::chrono::duration<double>(Clock::now() - start_).count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  double seconds_;
  Clock::time_point start_ = Clock::now();
};

/// The sum of the estimates of steps that always run, in seconds.
double seconds_to_keep(std::span<const SuiteStep> steps);

/// Prints one line for each step: its name, its estimate, its state, and its command. The state is
/// done, or left to another call by a budget of `budget_s`.
void print_plan(const Suite& suite, const SuiteProgress& progress, double budget_s);

}  // namespace dlscale::app
