#pragma once
#include <cstddef>

#include "core/base/units.hpp"
#include "core/network/network.hpp"
#include "core/run/run.hpp"
#include "model/machine/machine.hpp"
#include "model/published/scaling/facts/facts.hpp"
#include "model/published/scaling/fit/fitted_file.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {

/// The terms of training on several devices by data sheets, as the model of scaling fitted them to
/// published trainings (model/published/scaling/time), for the task graph of an iteration.

/// The fit to all published trainings in configs/models/scaling.yaml, which is read once. Throws
/// ConfigError.
const scaling::Fit& nominal_scaling();
/// The number of trainings that it was fitted to.
std::size_t nominal_scaling_trainings();

/// The time of an all-reduce of m bytes, start + per_byte m. [exchange_cost()]
struct SheetMessages {
  Seconds start;
  SecondsPerByte per_byte;
  Seconds agreement;      ///< of the hosts before a message; 0 without a coordinator
  bool on_device = true;  ///< kernels of the device add, and compete with computing
  [[nodiscard]] Seconds time(Bytes m) const { return agreement + start + m * per_byte; }
};

/// Requires ≥ 2 ranks. A longer start-up that the cluster states for a link replaces the fitted
/// one. Throws as cluster_facts() does.
SheetMessages sheet_messages(const Machine& machine, const Placement& placement);

/// Effective start-up and bandwidth of the links within nodes and between them, for the closed
/// forms of algorithms. [exchange_cost()]
struct SheetLink {
  Seconds start;
  SecondsPerByte per_byte;
};
SheetLink sheet_link_within(const Machine& machine, const Placement& placement);
SheetLink sheet_link_between(const Machine& machine, const Placement& placement);

/// Delays on several ranks beside their messages.
struct SheetDelays {
  /// r: computing of the slowest rank, over the mean, less 1.
  double waiting = 0;
  /// Copies of gradients to and from their buffers, and a time for each doubling of the nodes.
  Seconds meeting;
  /// ε: share of the time of messages beside computing that computing loses to them.
  double interference = 0;
};
/// Requires ≥ 1 rank; all are 0 on one.
SheetDelays sheet_delays(const Machine& machine, const Placement& placement,
                         const Network& network);
/// The delays of ranks that exchange only `gradients` ≥ 0 bytes of the network's.
SheetDelays sheet_delays(const Machine& machine, const Placement& placement, const Network& network,
                         Bytes gradients);

/// The exchange of all gradients with parameter servers. [exchange_cost(), ScalingModel]
struct SheetServers {
  Seconds transfer;  ///< all pushes and pulls
  Seconds last;      ///< of them those of one tensor
  /// Whether messages also travel beside the next forward pass, as where a framework runs graphs.
  bool running = false;
  double interference = 0;  ///< SheetDelays::interference
};
/// Requires a run that exchanges_by_servers(). Throws as cluster_facts() does.
SheetServers sheet_servers(const Machine& machine, const Run& run, const Network& network);

/// Factors on a time: 5 % of trainings take less than `low` times it, 5 % more than `high` times.
struct TimeFactors {
  double low = 1;
  double high = 1;
};

/// The interval of what several ranks add to the given time of `facts`, by errors at sets that a
/// fit has not seen. It is wider outside the domain of the fit. [ScalingModel, with_interval(),
/// stretched()] The shift of the middle of errors is in the ends alone, and so is an unknown
/// overlap, for which a run has buckets.
TimeFactors scaling_factors(const scaling::TrainingFacts& facts);

}  // namespace dlscale::model
