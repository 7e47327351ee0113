#pragma once
#include <span>
#include <vector>

#include "backend/comm/communicator.hpp"
#include "bench/comm/clock/job_clock.hpp"
#include "bench/comm/traffic/traffic.hpp"
#include "core/base/units.hpp"
#include "core/results/measurement.hpp"

namespace dlscale::bench {

/// When a rank was in a call, on the clock that is common to all.
struct CommonStay {
  Seconds entry;
  Seconds exit;
};

/// Of one call: stays[rank], at least one.
using CallStays = std::span<const CommonStay>;

/// From when the first rank entered to when the last one did.
Seconds start_skew(CallStays stays);

/// From when the last rank entered, so that all were there, to when the last one left. As a rank
/// leaves after it entered by its own clock, this is never negative.
Seconds last_entry_to_last_exit(CallStays stays);

/// Notes when this rank enters and leaves calls, between two looks at all clocks.
class StartWatch {
 public:
  /// Collective.
  explicit StartWatch(backend::Communicator& ranks);
  void note(const Stay& stay) { stays_.push_back(stay); }
  /// Collective. Adds to a measurement of `traffic` with the series "time", each of whose samples
  /// was noted (others before them may have been, too), the series
  ///   start_skew               of each sample; of the ranks that the traffic involves, as all here
  ///   start_skew_p95           its 95th percentile, alone
  ///   last_entry_to_last_exit  of each sample, divided by parts() as the time is
  ///   clock_uncertainty        what entries of two ranks may be apart without being told, alone
  ///   clock_offset             of each rank: before the first sample, and after the last
  /// all in seconds. The first four have one list, as they are of all ranks together.
  void report(const Traffic& traffic, Measurement& measurement);
  /// Of every rank in the samples that were reported, [rank][i]; none if there were none.
  [[nodiscard]] const std::vector<std::vector<CommonStay>>& reported() const { return reported_; }

 private:
  [[nodiscard]] std::vector<CommonStay> common_stays(const RankClock& mine,
                                                     std::size_t count) const;

  backend::Communicator* ranks_;
  JobClock clock_;
  std::vector<ClockOffset> before_;
  std::vector<Stay> stays_;
  std::vector<std::vector<CommonStay>> reported_;
};

}  // namespace dlscale::bench
