#pragma once
#include <array>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/base/units.hpp"
#include "core/run/run.hpp"

namespace dlscale {

/// Settings of the gradient exchange that a command line, a profile or a result gives. An absent
/// value was not given, and a run keeps its default.
struct ExchangeValues {
  std::optional<Synchronisation> synchronisation = {};
  std::optional<Seconds> cycle = {};
  std::optional<Bytes> fusion_threshold = {};
  /// Limit of all buckets, but not of the first one if first_bucket is given.
  std::optional<Bytes> bucket = {};
  std::optional<Bytes> first_bucket = {};
  std::optional<Bytes> partition = {};
  std::optional<int> credit = {};
  std::optional<int> servers = {};  ///< 0: all ranks
  std::optional<Sharding> sharding = {};
  std::optional<Transport> transport = {};
  std::optional<Callers> callers = {};
};

/// Reads values by their names as in ExchangeValues, each with its unit ("cycle", "1 ms"); the
/// servers are "all" or a number. Empty texts and other names are left out. Throws ConfigError.
ExchangeValues read_exchange(const std::map<std::string, std::string>& texts);

/// A whole number from 1 up. Throws ConfigError, which names `where`.
int parse_whole_number(std::string_view text, std::string_view where);

/// Sets the given values in `run`. Throws ConfigError for a value that has no effect under any of
/// the command's schedules.
void apply(const ExchangeValues& values, std::span<const Schedule> schedules, Run& run);

/// Throws ConfigError for graphs under a schedule that overlaps_next_forward(): a graph runs
/// forward as a whole.
void check_launch(Launch launch, Schedule schedule);

/// Axes of a result that describe its gradient exchange: "schedule", and the settings that have an
/// effect, so that results of other schedules keep their keys. Settings are "cycle" ("0.001 s") and
/// "fusion_threshold" ("134217728 B") of horovod, "partition" and "credit" of priority, and
/// "synchronisation" and "servers" of a parameter server. The settings "sharding", "transport" and
/// "callers" occur if they differ from the default.
std::map<std::string, std::string> schedule_axes(const Run& run);

/// Names of all these axes.
inline constexpr std::array<std::string_view, 10> schedule_axis_names{
    "schedule",        "cycle",   "fusion_threshold", "partition", "credit",
    "synchronisation", "servers", "sharding",         "transport", "callers"};

/// The inverse: reads the axes of a result into `run`; missing axes give the default. Throws
/// ConfigError.
void read_schedule_axes(const std::map<std::string, std::string>& axes, Run& run);

}  // namespace dlscale
