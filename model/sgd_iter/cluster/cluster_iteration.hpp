#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "core/base/units.hpp"
#include "model/sgd_iter/cluster/compute_factors.hpp"
#include "model/sgd_iter/graph/iteration.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {

/// What is simulated: the first iterations differ, while the queue of batches fills or drains, and
/// are left out.
struct CountedIterations {
  int left_out = 8;  ///< ≥ 1
  int counted = 1;   ///< ≥ 1
};

/// Iterations of ranks that are not alike: means over those that were counted.
struct ClusterIteration {
  Seconds total;                     ///< of all ranks, from the end of an iteration to the next
  std::vector<IterationTime> ranks;  ///< of each: what it waits for others is in exposed_comm
  /// Of each: from the end of its backward pass to that of the last rank.
  std::vector<Seconds> waiting;
};

/// Why the graph of all ranks cannot be simulated for a plan, as a clause, or nothing.
std::string why_not_unfolded(const IterationPlan& plan);

/// The plan on every rank of a placement, with nothing folded: what simulate_iteration() does with
/// one rank for all. Each rank has a device, a copy engine, loader threads and cores of its own;
/// the ranks of a node share its storage, fairly, and of it `plan.storage` is what all ranks of the
/// fullest node take together; of a server that nodes share, flows of all ranks share its link, and
/// those of a node the node's, by max-min (FairLinks). Forward, backward and updates of a rank take
/// its factor times what the plan says. A message or a gather is ready when all ranks have come to
/// it; which of those that are ready is next, and whether they travel in packs, is as in
/// simulate_iteration(): all ranks look at the same times, on one clock. It ends on all at once;
/// where threads share cores, when the last rank could do its part.
///
/// Whether ranks meet at once, or those of a node first and then nodes, makes no difference to
/// that: with b in nodes, c across them and a in nodes again, and no node in two messages at a
/// time, both end b + c + a after the last rank of all came. [D, derived: the maximum of maxima]
///
/// Equal ranks take what simulate_iteration() says. [D+, tested on random plans] With spread, each
/// message waits for the slowest of all ranks: see expected_slowest(). Wrong where a rank goes on
/// before a message has ended everywhere. Requires that why_not_unfolded() says nothing; memory and
/// time grow with ranks × iterations × parts of the plan: see unfolded_tasks().
ClusterIteration simulate_cluster(const IterationPlan& plan, const Placement& placement,
                                  const ComputeFactors& factors, const CountedIterations& counted);

/// About how many tasks that are; each takes some 100 B.
double unfolded_tasks(const IterationPlan& plan, const Placement& placement,
                      const CountedIterations& counted);

}  // namespace dlscale::model
