#pragma once
#include "core/collective/algorithm.hpp"
#include "core/collective/schedule.hpp"

/// Which algorithms ranks can carry out among themselves.
namespace dlscale::backend {

/// Not if it needs other ranks, or switches that compute.
inline bool can_run(const collective::Algorithm& algorithm, const collective::Settings& settings) {
  return collective::obstacle(algorithm, settings).empty() && !algorithm.traits.switches;
}

/// With servers on the ranks, where it has some.
inline collective::Schedule schedule_of(const collective::Algorithm& algorithm,
                                        const collective::Settings& settings) {
  const collective::Schedule schedule = algorithm.schedule(settings);
  return schedule.helpers == 0 ? schedule : collective::colocated(schedule);
}

}  // namespace dlscale::backend
