#include "bench/comm/clock/clock_offset.hpp"

#include <algorithm>

#include "core/base/error.hpp"

namespace dlscale::bench {

ClockOffset clock_offset(std::span<const RoundTrip> trips) {
  EXPECT(!trips.empty());
  const RoundTrip& best = *std::ranges::min_element(
      trips, {}, [](const RoundTrip& trip) { return trip.received - trip.sent; });
  // The difference is halved, as sums of large clock values lose digits.
  const Seconds half = (best.received - best.sent) / 2;
  const Seconds middle = best.sent + half;
  return {.at = middle, .ahead = best.answered - middle, .uncertainty = half};
}

RankClock::RankClock(const ClockOffset& before, const ClockOffset& after)
    : before_(before),
      drift_(after.at > before.at ? (after.ahead - before.ahead) / (after.at - before.at) : 0),
      uncertainty_(std::max(before.uncertainty, after.uncertainty)) {
  EXPECT(before.at <= after.at);
}

Seconds RankClock::common(Seconds own) const {
  // own = c + ahead + drift (c - at), solved for c - at.
  return before_.at + (own - before_.at - before_.ahead) / (1 + drift_);
}

}  // namespace dlscale::bench
