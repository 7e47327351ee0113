#pragma once
#include <chrono>
#include <cstdint>
#include <vector>

#include "backend/comm/communicator.hpp"
#include "bench/comm/clock/clock_offset.hpp"
#include "core/base/units.hpp"

namespace dlscale::bench {

/// The steady clocks of all ranks' hosts, counted from one number that all of them take off, and
/// how far they are apart. That ranks of one host have one clock is found, not assumed.
class JobClock {
 public:
  /// Collective.
  explicit JobClock(backend::Communicator& ranks);
  /// What this rank's clock showed at `point`.
  [[nodiscard]] Seconds shown(std::chrono::steady_clock::time_point point) const;
  /// Collective: the offset of every rank's clock, as rank 0 finds it by sending messages to each
  /// rank and back; the same on all ranks. Up to 100 round trips to each, of which there are fewer
  /// where they take more than 5 ms together, and 10 at least.
  [[nodiscard]] std::vector<ClockOffset> look() const;

 private:
  [[nodiscard]] Seconds now() const { return shown(std::chrono::steady_clock::now()); }
  [[nodiscard]] ClockOffset ask(Rank other) const;
  void answer() const;

  backend::Communicator* ranks_;
  std::int64_t origin_ = 0;  ///< in ticks of the clock: rank 0's when this was made
};

}  // namespace dlscale::bench
