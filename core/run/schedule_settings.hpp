#pragma once
#include <array>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "core/run/run.hpp"

namespace dlscale {

/// What of Run::synchronisation and Run::settings a command line names, as typed; empty: not named.
struct ScheduleOptions {
  std::string synchronisation;
  std::string cycle;             ///< with a unit, "1 ms"
  std::string fusion_threshold;  ///< with a unit, "128 MiB"
  std::string bucket = {};       ///< with a unit, "25 MiB": of all buckets, but for
  std::string first_bucket = {};
  std::string partition = {};  ///< with a unit, "4096000 B"
  std::string credit = {};
  std::string servers = {};    ///< "all", or how many
  std::string sharding = {};   ///< by which rule they own parameters, "mxnet"
  std::string transport = {};  ///< how ranks reach them, "grpc"
  std::string callers = {};    ///< who calls them then, "nodes"
};

/// Reads what was named into `run`. Throws ConfigError for what cannot be read, and for a setting
/// that changes nothing under any of the schedules that the command runs.
void apply(const ScheduleOptions& options, std::span<const Schedule> schedules, Run& run);

/// Throws ConfigError for graphs under a schedule that overlaps_next_forward(): a graph runs
/// forward as a whole.
void check_launch(Launch launch, Schedule schedule);

/// Axes of a result that say how its gradients travelled: "schedule", and of what can be tuned only
/// what has an effect, so that results of other schedules keep their keys: "cycle" ("0.001 s") and
/// "fusion_threshold" ("134217728 B") of horovod, "partition" and "credit" of priority,
/// "synchronisation" and "servers" of a parameter server, and "sharding", "transport" and "callers"
/// where they are not as usual.
std::map<std::string, std::string> schedule_axes(const Run& run);

/// The names of all of them.
inline constexpr std::array<std::string_view, 10> schedule_axis_names{
    "schedule",        "cycle",   "fusion_threshold", "partition", "credit",
    "synchronisation", "servers", "sharding",         "transport", "callers"};

/// The reverse: what the axes of a result say, or, where they say nothing, what is usual. Throws
/// ConfigError.
void read_schedule_axes(const std::map<std::string, std::string>& axes, Run& run);

}  // namespace dlscale
