#pragma once
#include "core/parallel/schedule/schedule.hpp"

namespace dlscale::parallel {

/// Runs the lists without times. Throws ConfigError, which names a rank and its operation, if some
/// rank waits for ever. Requires that each message has both ends, and that all numbers are in their
/// ranges (check_schedule() sees to that).
void check_progress(const Schedule& schedule, Delivery delivery);

}  // namespace dlscale::parallel
