#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/results/measurement.hpp"

namespace dlscale::app {

/// The condition of a GPU while it measured rows of one key.
struct GpuConditions {
  /// Thermal and hardware slowdowns, in words. A power cap is not among them, since GPUs work at it
  /// under load.
  std::vector<std::string> slowed_by;
  double power_limited = 0;  ///< share of the readings at the power cap
  double clock_hz = 0;       ///< median of the readings; 0: unknown
};

/// The condition of the machine during a run.
struct RunConditions {
  std::map<std::string, GpuConditions> gpus;  ///< by the key of the rows that report it
  std::vector<std::string> unsettled;  ///< keys of rows that did not settle in their time limit
  /// Number of thermal throttling events of this host's processors during the run; absent if the
  /// kernel does not count them.
  std::optional<std::int64_t> slowed_by_heat;
  std::optional<double> load;  ///< load average of the last minute, before the run
};

/// Adds the conditions that a row reports.
void add_conditions(const Measurement& row, const std::string& key, RunConditions& conditions);

/// A round is disturbed if its slowest clock is below this share of its fastest.
inline constexpr double least_clock_share = 0.75;
/// A round is disturbed if the share of readings at the power cap differs by this much between
/// runs.
inline constexpr double most_power_difference = 0.5;

/// The reason why the runs of one round (by name) were disturbed: throttling, lower clocks in some
/// runs, or a power cap in some only. Empty if the reported conditions show none of these.
std::string disturbance(const std::map<std::string, RunConditions>& runs);

}  // namespace dlscale::app
