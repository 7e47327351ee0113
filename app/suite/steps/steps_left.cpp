#include "app/suite/steps/steps_left.hpp"

namespace dlscale::app {

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

StepsLeft::StepsLeft(std::span<const SuiteStep> steps, const SuiteProgress& progress)
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

}  // namespace dlscale::app
