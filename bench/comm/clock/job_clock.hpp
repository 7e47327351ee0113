#pragma once
#include <chrono>
#include <cstdint>
#include <vector>

#include "backend/comm/communicator.hpp"
#include "bench/comm/clock/clock_offset.hpp"
#include "core/base/units.hpp"

namespace dlscale::bench {

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
