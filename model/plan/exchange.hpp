#pragma once
#include <optional>
#include <string>

#include "core/base/units.hpp"
#include "core/run/run.hpp"
#include "model/plan/profile.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {

/// How gradients travel in a training that is planned.
struct Exchange {
  Schedule schedule = Schedule::wait_free;
  /// bucketed: at what size, > 0, a bucket is closed; the first at 1 MiB, or at this where it is
  /// less. Absent: as the settings of the run have it.
  std::optional<Bytes> bucket = {};
  /// parameter_server: with a schedule that goes_with_server(), and without `bucket`.
  Synchronisation synchronisation = Synchronisation::all_reduce;
  int servers = 0;  ///< ranks or nodes that own parameters then, as ScheduleSettings::servers
  /// By which rule; one that goes_with_sharding().
  Sharding sharding = Sharding::largest_first;
  Transport transport = Transport::collectives;
  Callers callers = Callers::ranks;  ///< goes_with_transport()
  [[nodiscard]] bool by_server() const {
    return synchronisation == Synchronisation::parameter_server;
  }
  bool operator==(const Exchange&) const = default;
};

/// Makes the run exchange gradients so.
void apply(const Exchange& exchange, Run& run);

/// How many servers there are on ranks that are placed so, ≥ 1.
int servers_on(const Exchange& exchange, const Placement& placement);

/// Whether there can be so many; one rank exchanges nothing, whoever owns the parameters.
bool goes_with_ranks(const Exchange& exchange, const Placement& placement);

/// "bucketed at 10 MiB", "wait_free", "wait_free by 4 servers", "wait_free by 4 servers (mxnet)",
/// "wait_free by a server on each node (tensorflow, grpc, callers nodes)".
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
