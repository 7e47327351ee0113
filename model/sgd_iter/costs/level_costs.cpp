#include <algorithm>
#include <cmath>

#include "core/base/error.hpp"
#include "model/machine/measured_level.hpp"
#include "model/sgd_iter/costs/costs.hpp"
#include "model/sgd_iter/graph/iteration.hpp"
#include "model/sgd_iter/scaling/cluster_facts.hpp"

namespace dlscale::model {
namespace {

/// Factors so near to 1 do not show in any phase.
constexpr double unseen = 2e-3;

Seconds total_of(const IterationCosts& costs) {
  return iteration_total(costs.plan({}, Bound::value));
}

/// Lengthens an iteration `factor` > 1 times by a wait after its messages. Where looks for messages
/// shift, a factor on all times takes the rest.
void lengthen(double factor, IterationCosts& costs) {
  constexpr double exactly = 1e-9;
  const int most_rounds = costs.packed ? 2 : 20;
  Seconds total = total_of(costs);
  const Seconds wanted = factor * total;
  for (int round = 0; round < most_rounds; ++round) {
    if (std::abs(wanted / total - 1) < exactly) return;
    costs.unexplained = std::max(Seconds(), costs.unexplained + wanted - total);
    total = total_of(costs);
  }
  costs.stretch = wanted / total;
}

/// Sets the links of the devices of a placement.
void take_links(const Machine& machine, const Placement& placement, scaling::TrainingFacts& facts) {
  const scaling::TrainingFacts there = cluster_facts(machine, placement);
  facts.node_fabric = there.node_fabric;
  facts.node_bandwidth = there.node_bandwidth;
  facts.node_nominal = there.node_nominal;
  facts.cluster_fabric = there.cluster_fabric;
  facts.cluster_bandwidth = there.cluster_bandwidth;
  facts.cards = there.cards;
}

/// Whether messages travel as they did in what was measured.
bool travels_alike(const MeasuredLevel& level, const Run& run) {
  return !level.other_links && !level.other_device && run.schedule == level.run.schedule &&
         run.synchronisation == level.run.synchronisation && run.settings == level.run.settings;
}

}  // namespace

void apply_level(const Machine& machine, const Run& run, IterationCosts& costs) {
  EXPECT(machine.level && costs.by_sheets && costs.facts);
  const MeasuredLevel& level = *machine.level;
  const MeasuredLevel::Factors factors = level.at(run.ranks);
  const MeasuredLevel::Rest& given = level.given(run.ranks);
  costs.computing = factors.computing;
  costs.added = factors.added;
  if (level.loading != 1) costs.load = Estimate<Seconds>::exact(level.loading * costs.load.value);
  const bool alike = travels_alike(level, run);
  costs.from_points = FromPoints{level.miss * level.distance(run.ranks),
                                 !level.other_device && run.dtype == level.run.dtype, alike};
  if (alike) {
    const Placement placement{given.ranks, run.ranks_per_node};
    if (given.ranks > run.ranks) take_links(machine, placement, *costs.facts);
    costs.facts->given = layout_of(placement);
    costs.facts->given.busiest_server = costs.facts->asked.busiest_server;
    costs.facts->given_iteration = given.iteration;
    costs.facts->given_batch = given.batch;
  }
  costs.unexplained = factors.wait;
  if (run.ranks > 1 && factors.left > 1 + unseen) {
    lengthen(factors.left, costs);
  } else {
    costs.stretch = factors.left;
  }
}

}  // namespace dlscale::model
