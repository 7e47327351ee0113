#include "model/sgd_iter/straggler_cost.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "core/base/error.hpp"
#include "model/sgd_iter/cluster/cluster_iteration.hpp"

namespace dlscale::model {
namespace {

/// Limit of tasks, about 100 B each: 1.6 GB.
constexpr double most_tasks = 16e6;
constexpr std::uint64_t seed = 1;

/// More iterations for few ranks, whose slowest varies more between iterations. Where messages are
/// packed, looks come at another phase of each iteration.
CountedIterations counted_for(const IterationPlan& plan, int ranks) {
  constexpr int draws = 4096;
  return {8, std::clamp(draws / ranks, plan.packing ? 16 : 4, draws)};
}

Seconds computing_time(const IterationPlan& plan) {
  Seconds sum = plan.forward.device + plan.update.device;
  for (const ForwardPart& part : plan.late) sum += part.update.device + part.compute.device;
  for (const BackwardPart& part : plan.backward) sum += part.compute.device;
  return sum;
}

void check_unfolded(const IterationPlan& plan, const Placement& placement,
                    const CountedIterations& counted) {
  const std::string why = why_not_unfolded(plan);
  if (!why.empty()) {
    throw ConfigError(
        fmt::format("Stragglers cannot be predicted here: {}, which the graph of all ranks leaves "
                    "out. Predict without stragglers.",
                    why));
  }
  const double tasks = unfolded_tasks(plan, placement, counted);
  if (tasks <= most_tasks) return;
  throw ConfigError(
      fmt::format("Stragglers of {} ranks need a graph of about {:.0f} million tasks, more than "
                  "the {:.0f} million that fit in 1.6 GB. Ask for fewer ranks, or for a schedule "
                  "of fewer messages, such as bucketed.",
                  placement.ranks, tasks / 1e6, most_tasks / 1e6));
}

}  // namespace

StragglerCost straggler_cost(IterationPlan plan, const Placement& placement,
                             const RankSpread& spread) {
  plan.contention.clear();
  const CountedIterations counted = counted_for(plan, placement.ranks);
  check_unfolded(plan, placement, counted);
  const int drawn = counted.left_out + counted.counted;
  const ComputeFactors factors =
      drawn_factors(spread, placement.ranks, static_cast<std::size_t>(drawn), seed);
  const Seconds uneven = simulate_cluster(plan, placement, factors, counted).total;
  // Equal ranks: a full node stands for all, over as many iterations, unless nodes share a server.
  const Placement node{placement.ranks_on_node(), placement.ranks_per_node};
  const Seconds even =
      simulate_cluster(plan, plan.shared_storage ? placement : node, ComputeFactors(), counted)
          .total;
  const Seconds alone = computing_time(plan);
  StragglerCost cost;
  cost.drawn = std::max(Seconds(), uneven - even);
  if (alone > Seconds()) {
    cost.expected = expected_slowest(alone, spread, placement.ranks) - alone;
  }
  return cost;
}

void add_stragglers(const IterationPlan& plan, const RankSpread& spread, Prediction& prediction,
                    Notes& notes) {
  const Run& run = prediction.run;
  if (run.ranks == 1 || spread.deviation == 0) return;
  const StragglerCost cost = straggler_cost(plan, {run.ranks, run.ranks_per_node}, spread);
  prediction.time.exposed_comm += cost.drawn;
  prediction.time.total += cost.drawn;
  if (prediction.low) *prediction.low += cost.drawn;
  if (prediction.high) *prediction.high += cost.drawn;
  prediction.closed_form.reset();
  prediction.closed_form_absent = "ranks wait for the slowest of them, which was drawn";
  notes.add(NoteKind::stragglers, {100 * spread.deviation}, {cost.drawn, run.ranks, cost.expected});
}

}  // namespace dlscale::model
