#include "suite/steps/remaining_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/text/progress_line.hpp"

namespace dlscale::suite {

std::vector<bool> with_builders(std::span<const SuiteStep> steps, std::size_t first) {
  std::vector<bool> among(steps.size(), false);
  among[first] = true;
  for (std::size_t i = first + 1; i < steps.size(); ++i) {
    for (std::size_t earlier = first; earlier < i && !steps[i].always && !among[i]; ++earlier) {
      among[i] = among[earlier] && builds_upon(steps[i], steps[earlier]);
    }
  }
  return among;
}

RemainingSteps::RemainingSteps(std::span<const SuiteStep> steps, const SuiteProgress& progress)
    : places_(steps.size()) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const SuiteStep& step = steps[i];
    Place& place = places_[i];
    if (step.always) continue;
    place.to_do = !progress.done(step);
    place.alone = step.keep_going || progress.begun_alone(step);
    for (std::size_t earlier = 0; earlier < i; ++earlier) {
      const Place& before = places_[earlier];
      if (!before.to_do || (before.alone && !builds_upon(step, steps[earlier]))) continue;
      // A step that makes all later ones remaining includes those that this one would.
      place.alone = before.alone;
      if (place.cause == nullptr) place.cause = &steps[earlier];
      place.to_do = true;
      if (!before.alone) break;
    }
  }
}

double seconds_to_keep(std::span<const SuiteStep> steps) {
  double seconds = 0;
  for (const SuiteStep& step : steps) seconds += step.always ? step.seconds : 0;
  return seconds;
}

void print_plan(const Suite& suite, const SuiteProgress& progress, double budget_s) {
  const RemainingSteps left(suite.steps, progress);
  const double kept = seconds_to_keep(suite.steps);
  double room = budget_s - kept;
  double now = kept;
  double later = 0;
  std::vector<const SuiteStep*> waiting;
  for (std::size_t i = 0; i < suite.steps.size(); ++i) {
    const SuiteStep& step = suite.steps[i];
    const bool waits = std::ranges::any_of(
        waiting, [&step](const SuiteStep* other) { return builds_upon(step, *other); });
    std::string when;
    if (!step.always && !left.to_do(i)) {
      when = ", done";
    } else if (!step.always && (waits || step.seconds > room)) {
      when = ", in another call";
      waiting.push_back(&step);
      later += step.seconds;
    } else if (!step.always) {
      room -= step.seconds;
      now += step.seconds;
    }
    fmt::print("{} (about {}{}): {}\n", step.name, duration_text(step.seconds), when,
               command_text(step));
  }
  fmt::print("In all about {}{}.\n", duration_text(now),
             later > 0 ? fmt::format(", and {} in other calls", duration_text(later)) : "");
}

}  // namespace dlscale::suite
