#pragma once
#include "model/sgd_iter/cluster/compute_factors.hpp"
#include "model/sgd_iter/evidence/notes.hpp"
#include "model/sgd_iter/graph/iteration.hpp"
#include "model/sgd_iter/predict.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {

/// What ranks whose computing varies add to an iteration, for each waits for the slowest.
struct StragglerCost {
  /// By the graph of all ranks with drawn factors, over equal ranks; ≥ 0. The mean of so many
  /// iterations that its standard error is some percent of it.
  Seconds drawn;
  /// By order statistics, of all computing at once (10.1), (10.6): what would be added if nothing
  /// else bounded the iteration and ranks met once in it.
  Seconds expected;
};

/// The plan is taken without contention. Throws ConfigError if all ranks cannot be simulated for it
/// (why_not_unfolded()), and if they are too many.
StragglerCost straggler_cost(IterationPlan plan, const Placement& placement,
                             const RankSpread& spread);

/// Adds it to a prediction of a plan whose host gives work in no time, as exposed communication,
/// and says so. There is no closed form then. Nothing is added for one rank.
void add_stragglers(const IterationPlan& plan, const RankSpread& spread, Prediction& prediction,
                    Notes& notes);

}  // namespace dlscale::model
