#pragma once
#include <chrono>
#include <span>

#include "app/suite/definition/suite.hpp"
#include "app/suite/definition/suite_progress.hpp"

namespace dlscale::app {

/// The time that one call of a suite may take. Steps that always run keep their estimates of it,
/// since they derive from what the others have measured.
class TimeBudget {
 public:
  /// In seconds from now on; infinite: there is none.
  explicit TimeBudget(double seconds) : seconds_(seconds) {}
  [[nodiscard]] double left() const {
    return seconds_ - std::chrono::duration<double>(Clock::now() - start_).count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  double seconds_;
  Clock::time_point start_ = Clock::now();
};

/// The estimates of those steps that always run, in seconds.
double seconds_to_keep(std::span<const SuiteStep> steps);

/// Prints a line for each step: its name, its estimate, whether it is done or is left to another
/// call by a budget of so many seconds, and its command.
void print_plan(const Suite& suite, const SuiteProgress& progress, double budget_s);

}  // namespace dlscale::app
