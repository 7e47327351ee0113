#pragma once
#include <array>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "core/base/units.hpp"
#include "core/run/run.hpp"

namespace dlscale {

/// Settings of Run::synchronisation and Run::settings on a command line, as typed; empty: not
/// given.
struct ScheduleOptions {
  std::string synchronisation;
  std::string cycle;             ///< with a unit, "1 ms"
  std::string fusion_threshold;  ///< with a unit, "128 MiB"
  /// Limit of all buckets, "25 MiB", but not of the first one if first_bucket is given.
  std::string bucket = {};
  std::string first_bucket = {};
  std::string partition = {};  ///< with a unit, "4096000 B"
  std::string credit = {};
  std::string servers = {};    ///< "all", or a number
  std::string sharding = {};   ///< placement of parameters on them, "mxnet"
  std::string transport = {};  ///< how ranks reach them, "grpc"
  std::string callers = {};    ///< the processes that call them, "nodes"
};

/// Parses the given options into `run`. Throws ConfigError for invalid text, and for a setting that
/// has no effect under any of the command's schedules.
void apply(const ScheduleOptions& options, std::span<const Schedule> schedules, Run& run);

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
