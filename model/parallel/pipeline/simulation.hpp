#pragma once
#include <vector>

#include "core/base/units.hpp"
#include "core/parallel/schedule/schedule.hpp"

namespace dlscale::model {

/// Times of the parts of a pipeline for one micro-batch, all ≥ 0 and finite.
struct PipelineCosts {
  std::vector<Seconds> forward;   ///< by part
  std::vector<Seconds> backward;  ///< by part, with all that is computed again
  /// By part: the share of backward that computes gradients of weights, at most backward. Schedules
  /// that split backward read it; others may leave it empty.
  std::vector<Seconds> backward_weights = {};
  /// Between part p and part p + 1, parts - 1 in all: a message, one way; empty: no time.
  std::vector<Seconds> boundary = {};
  std::vector<Seconds> reduce = {};  ///< by part; empty: no time
  std::vector<Seconds> update = {};  ///< by part; empty: no time
};

/// An iteration of a pipeline, from the first forward to the last update.
struct PipelineTime {
  Seconds makespan;
  std::vector<Seconds> busy;  ///< by rank: forward, backward and update
  /// By rank: the most pieces (parts of micro-batches) whose activations it holds at once, from
  /// forward to the backward that ends with the gradient of the weights.
  std::vector<int> live;

  /// The share of the ranks' time in which they do not compute: 0 … 1, 0 for no time.
  [[nodiscard]] double bubble() const;
};

/// An operation as it ran. A receive starts when its rank comes to it and ends when the message is
/// there; a send and the begin of a reduce take no time of the rank.
struct TimedOperation {
  parallel::Operation operation;
  Seconds start;
  Seconds end;
};

/// Simulates the lists: a rank does one operation at a time, in order. [D, program order as in
/// core/parallel/schedule/schedule.hpp]
///
///   start = max(end of the rank's operation before, arrival of what it receives)
///   arrival = end of the operation that the send follows + boundary
///
/// A reduce takes its time beside computing, after those that its ranks began before it, once all
/// ranks that hold its part have begun it.
///
/// It is wrong where messages share a link, where a send keeps its rank from computing, and where
/// computing slows down beside messages: then put the difference into the costs. Requires lists
/// that check_schedule() accepts with eager sends (EXPECT). O(operations), some 10 ns each.
PipelineTime simulate(const parallel::Schedule& schedule, const PipelineCosts& costs);

/// Simulates likewise, and keeps what each rank did, in its order.
struct PipelineTimeline {
  PipelineTime time;
  std::vector<std::vector<TimedOperation>> ranks;
};
PipelineTimeline timeline(const parallel::Schedule& schedule, const PipelineCosts& costs);

}  // namespace dlscale::model
