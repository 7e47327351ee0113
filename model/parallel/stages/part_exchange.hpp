#pragma once
#include <cstddef>
#include <vector>

#include "core/network/network.hpp"
#include "core/network/step.hpp"
#include "core/parallel/grid.hpp"
#include "core/parallel/schedule/schedule.hpp"
#include "core/run/run.hpp"
#include "model/machine/machine.hpp"
#include "model/parallel/parts/network_parts.hpp"
#include "model/parallel/pipeline/simulation.hpp"
#include "model/sgd_iter/evidence/notes.hpp"

namespace dlscale::model {

/// A time of one step, at the place of the step in backward_steps().
struct BackwardTimes {
  std::vector<Step> steps;
  std::vector<Seconds> times;
};

/// The sum of one part's gradients over all ranks that hold the part, by itself.
struct PartExchange {
  int ranks = 1;
  int nodes = 1;
  Rank first = 0;    ///< the first of these ranks, of the whole job
  Seconds messages;  ///< time of all its messages
  /// From the end of the part's last backward to the end of the sum, ≥ 0: messages that backward
  /// does not hide, what they slow it down, and the meeting of ranks (SheetDelays).
  Seconds tail;
};

/// The exchange of each part's gradients over the ranks of the plan that hold it. While the last
/// micro-batch passes a part backward, its messages travel as run.schedule says, over buckets that
/// end where the part ends. `before` is the time of an iteration before that. Schedules:
/// sequential, wait_free, bucketed, horovod, by all-reduce; ConfigError for others. `copies` as in
/// Schedule.
std::vector<PartExchange> part_exchanges(const Network& network, const NetworkParts& parts,
                                         const Machine& machine, const Run& run,
                                         const parallel::ParallelPlan& plan, int copies,
                                         const BackwardTimes& backward, Seconds before,
                                         Notes& notes);

/// The time that each part's reduce takes in simulate(), by part. Sums of parts whose ranks lie on
/// the same node share its way to other nodes: one follows the other, in the order in which their
/// messages would begin. [D: links that are never idle end a list of messages at the same time,
/// shared or in turn] `alone` is the pipeline without reduces.
std::vector<Seconds> reduce_times(const parallel::Schedule& schedule, const PipelineTimeline& alone,
                                  const std::vector<PartExchange>& exchanges, int ranks_per_node);

}  // namespace dlscale::model
