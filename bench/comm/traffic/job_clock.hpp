#pragma once
#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

#include "backend/comm/communicator.hpp"
#include "core/base/units.hpp"

namespace dlscale::bench {

/// A message to another rank and its answer. `sent` and `received` are times of the common clock,
/// which is rank 0's; `answered` is a time of the other rank's clock between them.
struct RoundTrip {
  Seconds sent;
  Seconds answered;
  Seconds received;
};

/// How far a rank's clock is ahead of the common clock (negative: behind) at a time of the latter.
struct ClockOffset {
  Seconds at;
  Seconds ahead;
  /// Bound on the error of `ahead`, however the round trip splits into its two directions.
  Seconds uncertainty;
};

/// The offset by the fastest of the round trips, of which at least one is needed:
///   ahead = answered - (sent + received) / 2,  uncertainty = (received - sent) / 2
/// The answer was written between the two other times, so the error is at most half of the time
/// between them.   [Cristian 1989, "Probabilistic clock synchronization"]
ClockOffset clock_offset(std::span<const RoundTrip> trips);

/// A rank's clock between two measurements of its offset. Wrong where the clock's rate changes
/// between them: it is assumed to drift steadily, as clocks do over seconds.
class RankClock {
 public:
  /// Requires before.at <= after.at.
  RankClock(const ClockOffset& before, const ClockOffset& after);
  /// The time of the common clock at which this clock showed `own`.
  [[nodiscard]] Seconds common(Seconds own) const;
  /// Seconds gained per second of the common clock; 0 if both measurements have the same time.
  [[nodiscard]] double drift() const { return drift_; }
  /// Bound on the error of common() between the two measurements.
  [[nodiscard]] Seconds uncertainty() const { return uncertainty_; }

 private:
  ClockOffset before_;
  double drift_;
  Seconds uncertainty_;
};

/// The steady clocks of all ranks' hosts, relative to a common origin, and their offsets. Ranks of
/// one host share a clock; this is measured, not assumed.
class JobClock {
 public:
  /// Collective.
  explicit JobClock(backend::Communicator& ranks);
  /// The time of this rank's clock at `point`.
  [[nodiscard]] Seconds shown(std::chrono::steady_clock::time_point point) const;
  /// Collective: the offset of every rank's clock, measured by round trips from rank 0; the same on
  /// all ranks. It takes up to 100 round trips per rank within 5 ms, and at least 10.
  [[nodiscard]] std::vector<ClockOffset> look() const;

 private:
  [[nodiscard]] Seconds now() const { return shown(std::chrono::steady_clock::now()); }
  [[nodiscard]] ClockOffset ask(Rank other) const;
  void answer() const;

  backend::Communicator* ranks_;
  std::int64_t origin_ = 0;  ///< in ticks of the clock: rank 0's at construction
};

}  // namespace dlscale::bench
