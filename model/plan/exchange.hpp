#pragma once
#include <optional>
#include <string>

#include "core/base/units.hpp"
#include "core/run/run.hpp"
#include "model/plan/batched_form.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {

/// How a planned training exchanges gradients.
struct Exchange {
  Schedule schedule = Schedule::wait_free;
  /// Size > 0 at which a bucket is closed, for the schedule bucketed. The first bucket is closed at
  /// 1 MiB, or at this size if it is less. Empty: the settings of the run decide.
  std::optional<Bytes> bucket = {};
  /// parameter_server requires a schedule that goes_with_server(), and no `bucket`.
  Synchronisation synchronisation = Synchronisation::all_reduce;
  int servers = 0;  ///< number of ranks or nodes that own parameters, as ScheduleSettings::servers
  /// The rule that assigns parameters to servers; it must satisfy goes_with_sharding().
  Sharding sharding = Sharding::largest_first;
  Transport transport = Transport::collectives;
  Callers callers = Callers::ranks;  ///< goes_with_transport()
  [[nodiscard]] bool by_server() const {
    return synchronisation == Synchronisation::parameter_server;
  }
  bool operator==(const Exchange&) const = default;
};

/// Sets the exchange of a run.
void apply(const Exchange& exchange, Run& run);

/// The number of servers on the ranks of a placement, ≥ 1.
int servers_on(const Exchange& exchange, const Placement& placement);

/// Whether the placement has enough ranks or nodes for the servers. One rank exchanges nothing, so
/// it has enough for any exchange.
bool goes_with_ranks(const Exchange& exchange, const Placement& placement);

/// Text of an exchange: "bucketed at 10 MiB", "wait_free", "wait_free by 4 servers", "wait_free by
/// 4 servers (mxnet)", "wait_free by a server on each node (tensorflow, grpc, callers nodes)".
std::string exchange_text(const Exchange& exchange);

/// How messages of the exchange travel; empty if its schedule has no batched form.
std::optional<Travel> travel_of(const Exchange& exchange);

/// The sizes at which buckets of the exchange are closed.
struct BucketLimits {
  Bytes first;
  Bytes others;
};
BucketLimits bucket_limits(const Exchange& exchange, const ScheduleSettings& settings);

}  // namespace dlscale::model
