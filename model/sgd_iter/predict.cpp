#include "model/sgd_iter/predict.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/network/relu_fusion.hpp"
#include "core/text/quantity_text.hpp"
#include "model/published/scaling/fit/fitted_file.hpp"
#include "model/roofline/sheet/step_times.hpp"
#include "model/sgd_iter/costs/costs.hpp"
#include "model/sgd_iter/graph/closed_form.hpp"
#include "model/sgd_iter/graph/iteration.hpp"
#include "model/sgd_iter/messages/all_reduce_override.hpp"
#include "model/sgd_iter/messages/link_estimate.hpp"
#include "model/sgd_iter/predicted_iteration.hpp"
#include "model/sgd_iter/scaling/sheet_exchange.hpp"
#include "model/sgd_iter/straggler_cost.hpp"
#include "model/topology/datasheet_efficiency.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {
namespace {

constexpr std::string_view computing_bound = "compute";

/// Notes that kernels run at full peak, and the source of their interval.
void note_full_peak(const Cluster& cluster, const Run& run, Notes& notes) {
  const ComputingShares& shares = computing_shares;
  notes.add(NoteKind::data_sheets);
  notes.add(NoteKind::computing_interval,
            {shares.range.low, shares.range.high, shares.points, shares.median});
  if (const std::string beyond = beyond_evidence(cluster, run); !beyond.empty()) {
    notes.add(NoteKind::other_evidence, {beyond});
  }
}

/// Notes a link between nodes that was stated for a measured machine, if its kind is unknown.
void note_untold_links(const Machine& machine, const Placement& placement, Notes& notes) {
  if (!machine.fitted || !machine.inter_node_stated) return;
  for (const Note& note : untold_links(machine.cluster, {placement.nodes(), 1})) notes.add(note);
}

/// Notes what is unlike the trainings that the terms of several ranks were fitted to.
void note_scaling(const IterationCosts& costs, Notes& notes) {
  if (!costs.facts) return;
  for (const std::string& doubt : scaling::outside(*costs.facts, nominal_scaling().domain)) {
    notes.add(NoteKind::scaling_outside, {doubt});
  }
}

/// Forward and backward on the device and the host.
LaunchedWork computing_work(const IterationPlan& plan) {
  LaunchedWork all = plan.forward;
  for (const ForwardPart& part : plan.late) all = all.then(part.compute);
  for (const BackwardPart& part : plan.backward) all = all.then(part.compute);
  return all;
}

/// The same plan on a host that launches work in no time.
IterationPlan launched_at_once(IterationPlan plan) {
  for (LaunchedWork* work : {&plan.h2d, &plan.forward, &plan.update})
    *work = work->launched_at_once();
  for (BackwardPart& part : plan.backward) part.compute = part.compute.launched_at_once();
  for (ForwardPart& part : plan.late) {
    part.update = part.update.launched_at_once();
    part.compute = part.compute.launched_at_once();
  }
  return plan;
}

void note_launches(const IterationPlan& plan, const IterationTime& time, Notes& notes) {
  const LaunchedWork work = computing_work(plan);
  if (work.host == Seconds()) return;
  const Seconds waited = time.total - simulate_iteration(launched_at_once(plan)).total;
  if (waited <= 0.005 * time.total) return;
  notes.add(NoteKind::kernel_launches, {work.host, work.device, waited});
}

/// The bottleneck, or "kernel launches" where the host launches compute more slowly than the device
/// does it.
std::string what_bounds(const Prediction& prediction, const IterationPlan& plan) {
  const std::string_view bound = bound_by(prediction.time, prediction.shares_cores);
  const LaunchedWork work = computing_work(plan);
  return bound == computing_bound && work.host > work.device ? "kernel launches"
                                                             : std::string(bound);
}

/// Says why switches that add make an iteration longer, if they do.
void note_slow_switches(const Prediction& prediction, Seconds without, Notes& notes) {
  if (prediction.time.total <= 1.000001 * without) return;
  notes.add(remark(
      "switches that add make the iteration longer here than the all-reduce that they replace: "
      "the model adds up the reduction within a node, that in the switches and the gathering "
      "within the node, which a ring does at once. On two nodes switches also save no byte "
      "between nodes, and streams through them reach 95 % of the link. They gain over many nodes "
      "and for small messages"));
}

void note_more_nodes(const Machine& machine, int nodes, Notes& notes) {
  if (nodes <= machine.cluster.nodes) return;
  notes.add(NoteKind::more_nodes, {machine.cluster.nodes, machine.cluster.name}, {nodes});
}

/// Notes measured points on more nodes than there are, and why they are to be checked.
void note_points(const Machine& machine, const Run& run, Notes& notes) {
  if (!machine.level) return;
  for (const MeasuredLevel::Rest& point : machine.level->rest) {
    note_more_nodes(machine, Placement{point.ranks, run.ranks_per_node}.nodes(), notes);
  }
  if (!machine.level->doubt.empty()) {
    notes.add(NoteKind::measured_points, {machine.level->doubt});
  }
}

PredictedIteration predict_one(const Network& network, const Machine& machine, const Run& run,
                               const RankSpread& spread) {
  Notes notes;
  const Placement placement{run.ranks, run.ranks_per_node};
  if (!machine.fitted && !sheet::has_kernel_times(machine.cluster.device)) {
    note_full_peak(machine.cluster, run, notes);
  }
  note_untold_links(machine, placement, notes);
  IterationCosts costs = iteration_costs(network, machine, run, notes);
  note_scaling(costs, notes);
  if (spread.deviation > 0) costs.delays.waiting = 0;  // stated instead
  const IterationPlan plan = costs.plan({}, Bound::value);
  Prediction prediction;
  prediction.run = run;
  if (network.is_over_sequences()) prediction.tokens = network.input().height;
  prediction.contention = costs.contention.used;
  prediction.sources = costs.sources;
  prediction.time = simulate_iteration(plan);
  prediction.closed_form = closed_form(plan, prediction.closed_form_absent);
  UncertainIteration iteration(costs, machine.fitted, prediction.time);
  const auto [low, high] = iteration.interval();
  prediction.low = low;
  prediction.high = high;
  add_stragglers(launched_at_once(plan), spread, prediction, notes);
  iteration.add(prediction.time.total - iteration.value());
  prediction.images_per_s = throughput(run.ranks, run.batch, prediction.time.total);
  prediction.shares_cores = plan.most_cores_wanted() > plan.cores;
  prediction.bound = what_bounds(prediction, plan);
  note_launches(plan, prediction.time, notes);
  const int nodes = placement.nodes();
  note_more_nodes(machine, nodes, notes);
  note_points(machine, run, notes);
  if (machine.all_reduce_override == adding_switches && nodes > 1) {
    Machine without = machine;
    without.all_reduce_override = machine.replaced_all_reduce;
    const PredictedIteration other = predict_one(network, without, run, spread);
    note_slow_switches(prediction, other.prediction.time.total, notes);
  }
  prediction.notes = notes.all();
  return {std::move(prediction), std::move(iteration)};
}

}  // namespace

std::string_view bound_by(const IterationTime& time, bool shares_cores) {
  const bool waits = time.io > 0.01 * time.total;
  const Seconds compute = time.forward + time.backward;
  if (waits && (!shares_cores || time.io > compute || time.load > compute)) return "input";
  const std::array<std::pair<Seconds, std::string_view>, 4> work{
      {{compute, computing_bound},
       {time.exposed_comm + time.hidden_comm, "communication"},
       {time.update, "update"},
       {time.h2d, "host-to-device copy"}}};
  return std::ranges::max_element(work, {}, &std::pair<Seconds, std::string_view>::first)->second;
}

void set_speedup(double speedup, const std::optional<QuantityInterval>& relative,
                 Prediction& prediction) {
  prediction.speedup = speedup;
  prediction.efficiency = scaling_efficiency(speedup, prediction.run.ranks);
  prediction.speedup_low.reset();
  prediction.speedup_high.reset();
  if (!relative) return;
  prediction.speedup_low = relative->low * speedup;
  // Ranks that share nothing but their parameters are no faster together.
  const double most = std::max(speedup, static_cast<double>(prediction.run.ranks));
  prediction.speedup_high = std::min(relative->high * speedup, most);
}

PredictedIteration predict_iteration(const Network& network, const Machine& machine, const Run& run,
                                     const RankSpread& spread) {
  check(run);
  return predict_one(as_run(network, run), machine, run, spread);
}

std::vector<Prediction> predict(const Network& network, const Machine& machine, const Run& run,
                                std::span<const int> ranks) {
  return predict(network, machine, run, ranks, RankSpread{});
}

std::vector<Prediction> predict(const Network& network, const Machine& machine, const Run& run,
                                std::span<const int> ranks, const RankSpread& spread) {
  const auto with_ranks = [&](int count, int servers) {
    Run one = run;
    one.ranks = count;
    one.settings.servers = servers;
    check(one);
    return one;
  };
  const Network running = as_run(network, run);
  std::vector<PredictedIteration> all;
  for (const int count : ranks) {
    all.push_back(predict_one(running, machine, with_ranks(count, run.settings.servers), spread));
  }
  // After the others, whose errors name messages too; one rank exchanges nothing.
  const int any = 0;
  const UncertainIteration alone = uncertain_iteration(network, machine, with_ranks(1, any));
  const double alone_per_s = throughput(1, run.batch, alone.value());
  std::vector<Prediction> predictions;
  for (auto& [prediction, iteration] : all) {
    set_speedup(prediction.images_per_s / alone_per_s, relative_speedup(iteration, alone),
                prediction);
    predictions.push_back(std::move(prediction));
  }
  return predictions;
}

}  // namespace dlscale::model
