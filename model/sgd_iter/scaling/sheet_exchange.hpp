#pragma once
#include <cstddef>

#include "core/base/units.hpp"
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
/// `gradients` are the bytes of all messages. All are 0 on one rank.
SheetDelays sheet_delays(const Machine& machine, const Placement& placement, Bytes gradients);

/// Factors on a time: 5 % of trainings take less than `low` times it, 5 % more than `high` times.
struct TimeFactors {
  double low = 1;
  double high = 1;
};

/// Times of an iteration that its interval depends on.
struct ScaledParts {
  bool measured = false;  ///< whether facts.given was measured; else it is one device
  Seconds alone;          ///< > 0: computing on one rank
  Seconds total;          ///< > 0
  Seconds slower;         ///< total, if every message took twice as long
  Seconds exposed;        ///< messages that computing does not hide
  Seconds communication;  ///< all messages
};

/// The interval of what several ranks add, by errors at sets that a fit has not seen. It is wider
/// outside the domain of the fit. [with_interval(), stretched()]
TimeFactors scaling_factors(const scaling::TrainingFacts& facts, const ScaledParts& parts);

}  // namespace dlscale::model
