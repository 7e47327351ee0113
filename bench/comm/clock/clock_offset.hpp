#pragma once
#include <span>

#include "core/base/units.hpp"

namespace dlscale::bench {

/// A message to another rank and its answer. `sent` and `received` are times of the common clock,
/// which is rank 0's; `answered` is what the other rank's clock showed in between.
struct RoundTrip {
  Seconds sent;
  Seconds answered;
  Seconds received;
};

/// How far a rank's clock is ahead of the common one (behind: negative) at a time of the latter.
struct ClockOffset {
  Seconds at;
  Seconds ahead;
  /// `ahead` is off by no more than this, however the round trip splits into there and back.
  Seconds uncertainty;
};

/// By the quickest of the round trips, of which there is at least one:
///   ahead = answered - (sent + received) / 2,  uncertainty = (received - sent) / 2
/// The answer was written between the two other times, so what it is off by is at most half of what
/// lies between them.   [Cristian 1989, "Probabilistic clock synchronization"]
ClockOffset clock_offset(std::span<const RoundTrip> trips);

/// A rank's clock between two looks at it. Where it is wrong: between them the clock is taken to
/// gain or lose at a steady rate, as clocks do over seconds.
class RankClock {
 public:
  /// Requires before.at <= after.at.
  RankClock(const ClockOffset& before, const ClockOffset& after);
  /// The time of the common clock at which this one showed `own`.
  [[nodiscard]] Seconds common(Seconds own) const;
  /// Seconds that it gains in a second of the common clock; 0 if both looks were at one time.
  [[nodiscard]] double drift() const { return drift_; }
  /// common() is off by no more than this between the two looks.
  [[nodiscard]] Seconds uncertainty() const { return uncertainty_; }

 private:
  ClockOffset before_;
  double drift_;
  Seconds uncertainty_;
};

}  // namespace dlscale::bench
