#pragma once
#include <span>

#include "core/base/units.hpp"
#include "train/exchange/arrivals.hpp"

namespace dlscale::train {

/// An interval of the host's clock.
struct Interval {
  Instant start;
  Instant end;
};

/// Total time before `until` of transfers that follow one another.
Seconds busy_before(std::span<const Transfer> transfers, Instant until);

/// Time during which at least one transfer was in flight outside the waits. Transfers may overlap;
/// waits do not.
Seconds busy_outside(std::span<const Transfer> transfers, std::span<const Interval> waits);

}  // namespace dlscale::train
