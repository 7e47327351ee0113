#pragma once
#include <span>

#include "core/base/units.hpp"
#include "train/exchange/arrivals.hpp"

namespace dlscale::train {

/// A stretch of time on the host's clock.
struct Interval {
  Instant start;
  Instant end;
};

/// What of transfers that follow one another ran before `until`.
Seconds busy_before(std::span<const Transfer> transfers, Instant until);

/// How long at least one of the transfers, which may run at once, was under way outside the waits,
/// which do not overlap.
Seconds busy_outside(std::span<const Transfer> transfers, std::span<const Interval> waits);

}  // namespace dlscale::train
