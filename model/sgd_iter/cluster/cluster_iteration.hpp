#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "core/base/units.hpp"
#include "model/sgd_iter/cluster/stragglers.hpp"
#include "model/sgd_iter/graph/iteration.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {

/// Simulated iterations. The first differ, while the queue of batches fills or drains, and are left
/// out.
struct CountedIterations {
  int left_out = 8;  ///< ≥ 1
  int counted = 1;   ///< ≥ 1
};

/// Iterations of ranks that are not alike: means over the counted ones.
struct ClusterIteration {
  Seconds total;                     ///< all ranks, from the end of an iteration to the next
  std::vector<IterationTime> ranks;  ///< by rank; waits for other ranks are in exposed_comm
  /// By rank: from the end of its backward pass to that of the last rank.
  std::vector<Seconds> waiting;
};

/// The reason why the graph of all ranks cannot be simulated for a plan, as a clause; else empty.
std::string why_not_unfolded(const IterationPlan& plan);

/// Simulates the plan on every rank of a placement, where simulate_iteration() uses one rank for
/// all. Each rank has its own device, copy engine, loader threads and cores. The ranks of a node
/// share its storage fairly; `plan.storage` is the time of all ranks of the fullest node together.
/// Flows from a storage server share its link, and those of a node the node's link, by max-min
/// (MaxMinFairLinks). Forward, backward and updates of a rank take its factor times the plan's
/// time. A message or a gather is ready when all ranks have reached it. Order and packing are as in
/// simulate_iteration(): all ranks look at the same times, on one clock. A message ends on all
/// ranks at once; where threads share cores, when the last rank could do its part.
///
/// It makes no difference whether all ranks meet at once, or first within nodes and then across.
/// Let b be the time within nodes, c across them and a within nodes again, with no node in two
/// messages at a time. Both variants end b + c + a after the last rank of all came. [D, derived:
/// the maximum of maxima]
///
/// Equal ranks take the times of simulate_iteration(). [D+, tested on random plans] With spread,
/// each message waits for the slowest of all ranks: see expected_slowest(). Wrong where a rank
/// continues before a message has ended everywhere. Requires that why_not_unfolded() is empty.
/// Memory and time grow with ranks × iterations × parts of the plan: see unfolded_tasks().
ClusterIteration simulate_cluster(const IterationPlan& plan, const Placement& placement,
                                  const ComputeFactors& factors, const CountedIterations& counted);

/// Approximate number of these tasks; each takes some 100 B.
double unfolded_tasks(const IterationPlan& plan, const Placement& placement,
                      const CountedIterations& counted);

}  // namespace dlscale::model
