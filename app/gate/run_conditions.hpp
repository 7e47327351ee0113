#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/results/measurement.hpp"

namespace dlscale::app {

/// How a GPU was while it measured rows of one key.
struct GpuConditions {
  /// Heat and brakes that slowed it, in words. A limit of power is not among them: it is how a GPU
  /// works under load.
  std::vector<std::string> slowed_by;
  double power_limited = 0;  ///< share of the readings in which a limit of power held
  double clock_hz = 0;       ///< median of the readings; 0: not told
};

/// How the machine was during a run.
struct RunConditions {
  std::map<std::string, GpuConditions> gpus;  ///< by key of the rows that tell
  std::vector<std::string> unsettled;         ///< keys of rows that did not settle in their time
  /// How often processors of this host were slowed by heat meanwhile; absent where the kernel does
  /// not count.
  std::optional<std::int64_t> slowed_by_heat;
  std::optional<double> load;  ///< of the last minute, before the run
};

/// Takes up what a row tells of them.
void add_conditions(const Measurement& row, const std::string& key, RunConditions& conditions);

/// Below this share of the fastest clock within a round the slowest was held back.
inline constexpr double least_clock_share = 0.75;
/// Readings with a limit of power in one run and not in another, as a share, from which on the two
/// are not alike.
inline constexpr double most_power_difference = 0.5;

/// Why runs of one round were not measured on a machine that was itself and the same for all, by
/// their names: heat or a brake, clocks that were held back in some, or a limit of power in some
/// only. Empty if they were, as far as they tell.
std::string disturbance(const std::map<std::string, RunConditions>& runs);

}  // namespace dlscale::app
