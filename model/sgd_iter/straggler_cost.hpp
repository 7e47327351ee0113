#pragma once
#include "model/sgd_iter/cluster/stragglers.hpp"
#include "model/sgd_iter/evidence/notes.hpp"
#include "model/sgd_iter/graph/iteration.hpp"
#include "model/sgd_iter/predict.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {

/// Time that varying computing of ranks adds to an iteration, because each waits for the slowest.
struct StragglerCost {
  /// From the graph of all ranks with drawn factors, relative to equal ranks; ≥ 0. The mean of
  /// enough iterations that its standard error is some percent of it.
  Seconds drawn;
  /// From order statistics of all computing at once: the addition if nothing else
  /// bounded the iteration and ranks met once in it.
  Seconds expected;
};

/// Ignores the plan's contention. Throws ConfigError if all ranks cannot be simulated for the plan
/// (why_not_unfolded()), and if they are too many.
StragglerCost straggler_cost(IterationPlan plan, const Placement& placement,
                             const RankSpread& spread);

/// Adds the cost to a prediction, as exposed communication with a note. The plan's host must launch
/// work in no time. Removes the closed form. Adds nothing for one rank.
void add_stragglers(const IterationPlan& plan, const RankSpread& spread, Prediction& prediction,
                    Notes& notes);

}  // namespace dlscale::model
