#pragma once
#include <optional>
#include <string>

#include "core/run.hpp"
#include "core/units.hpp"
#include "model/fast/profile.hpp"

namespace dlscale::model {

/// How gradients travel in a training that is planned.
struct Exchange {
  Schedule schedule = Schedule::wait_free;
  /// bucketed: at what size, > 0, a bucket is closed; the first at 1 MiB, or at this where it is
  /// less. Absent: as the settings of the run have it.
  std::optional<Bytes> bucket = {};
  /// parameter_server: with a schedule that goes_with_server(), and without `bucket`.
  Synchronisation synchronisation = Synchronisation::all_reduce;
  int servers = 0;  ///< ranks that own parameters then, as ScheduleSettings::servers
  /// By which rule; one that goes_with_sharding().
  Sharding sharding = Sharding::largest_first;
  [[nodiscard]] bool by_server() const {
    return synchronisation == Synchronisation::parameter_server;
  }
  bool operator==(const Exchange&) const = default;
};

/// Makes the run exchange gradients so.
void apply(const Exchange& exchange, Run& run);

/// Whether there can be so many servers; one rank exchanges nothing, whoever owns the parameters.
bool goes_with_ranks(const Exchange& exchange, int ranks);

/// "bucketed at 10 MiB", "wait_free", "wait_free by 4 servers", "wait_free by 4 servers (mxnet)".
std::string exchange_text(const Exchange& exchange);

/// Whether the batched form knows the schedule, and how its messages travel.
std::optional<Travel> travel_of(const Exchange& exchange);

/// Where buckets of the exchange are closed.
struct BucketLimits {
  Bytes first;
  Bytes others;
};
BucketLimits bucket_limits(const Exchange& exchange, const ScheduleSettings& settings);

}  // namespace dlscale::model
