#pragma once
#include <span>
#include <vector>

#include "backend/comm/communicator.hpp"
#include "bench/comm/traffic/job_clock.hpp"
#include "bench/comm/traffic/traffic.hpp"
#include "core/base/units.hpp"
#include "core/results/measurement.hpp"

namespace dlscale::bench {

/// When a rank was in a call, by the common clock.
struct CommonStay {
  Seconds entry;
  Seconds exit;
};

/// All ranks of one call: stays[rank], at least one.
using CallStays = std::span<const CommonStay>;

/// Time from the first rank's entry to the last one's.
Seconds start_skew(CallStays stays);

/// Time from the last rank's entry, when all are present, to the last exit. It is never negative,
/// as a rank exits after its own entry by its own clock.
Seconds last_entry_to_last_exit(CallStays stays);

/// Records when this rank enters and leaves calls, between two measurements of all clocks.
class StartWatch {
 public:
  /// Collective.
  explicit StartWatch(backend::Communicator& ranks);
  void note(const Stay& stay) { stays_.push_back(stay); }
  /// Collective. Adds series to a measurement of `traffic` with the series "time". Each of its
  /// samples must have been recorded, possibly after others. All are in seconds:
  ///   start_skew               per sample; among the ranks that the traffic involves
  ///   start_skew_p95           its 95th percentile, alone
  ///   last_entry_to_last_exit  per sample, divided by parts() as the time is
  ///   clock_uncertainty        largest undetectable difference of two ranks' entries, alone
  ///   clock_offset             of each rank: before the first sample, and after the last
  /// The first four have one list for all ranks together.
  void report(const Traffic& traffic, Measurement& measurement);
  /// Stays of every rank in the reported samples, [rank][i]; empty before report().
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
