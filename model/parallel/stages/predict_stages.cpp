#include "model/parallel/stages/predict_stages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "core/base/error.hpp"
#include "core/network/relu_fusion.hpp"
#include "core/network/step.hpp"
#include "core/parallel/partition.hpp"
#include "core/parallel/schedule/family.hpp"
#include "model/parallel/stages/slowest_copy.hpp"
#include "model/parallel/stages/stage_links.hpp"
#include "model/sgd_iter/costs/costs.hpp"
#include "model/sgd_iter/costs/input_pipeline.hpp"
#include "model/sgd_iter/kernels/kernel_time.hpp"
#include "model/sgd_iter/kernels/memory.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {
namespace {

using parallel::ParallelPlan;
using parallel::PipelineSchedule;
using parallel::PipelineShape;
using parallel::Recompute;

void check_axes(const Network& network, const ParallelPlan& plan) {
  const std::array<std::pair<std::string_view, bool>, 7> others{
      {{"tensor", plan.tensor > 1},
       {"sequence_parallel", plan.sequence_parallel},
       {"context", plan.context > 1},
       {"experts", plan.experts > 1},
       {"branches", plan.branches > 1},
       {"zero", plan.zero > 0},
       {"recompute=selective", plan.recompute == Recompute::selective}}};
  for (const auto& [name, asked] : others) {
    if (!asked) continue;
    throw ConfigError(
        fmt::format("the plan has {}, and {} is predicted by its layers, which are cut into stages "
                    "and copied for data parallelism alone. Leave it out, or take a transformer of "
                    "equal layers.",
                    name, network.name()));
  }
}

parallel::NetworkFacts facts_of(const Network& network, const ParallelPlan& plan,
                                std::int64_t global_batch) {
  parallel::NetworkFacts facts;
  const auto layers = static_cast<int>(network.layers().size()) - 1;
  if (!plan.stage_layers.empty()) facts.layers = layers;
  facts.global_batch = global_batch;
  const std::int64_t parts = std::int64_t{plan.stages} * plan.chunks;
  if (parts <= layers) return facts;
  throw ConfigError(
      fmt::format("stages {} × chunks {} are {} parts, and {} has {} layers. Take fewer.",
                  plan.stages, plan.chunks, parts, network.name(), layers));
}

/// The machine as one rank of the plan sees it: a processor is shared by the ranks of its node.
/// Without a stated memory, because each rank holds only a part of the network.
Machine seen_by_rank(Machine machine, const Run& run) {
  Cluster& cluster = machine.cluster;
  cluster.device.memory = {};
  const int on_node = Placement{run.ranks, run.ranks_per_node}.ranks_on_node();
  if (cluster.device.kind != DeviceKind::cpu || machine.fitted) return machine;
  const double share = std::min(1.0, static_cast<double>(cluster.devices_per_node) / on_node);
  for (auto& [precision, peak] : cluster.device.peak) peak = share * peak;
  cluster.device.memory_bandwidth = share * cluster.device.memory_bandwidth;
  cluster.intra_node.bandwidth = share * cluster.intra_node.bandwidth;
  return machine;
}

/// Input of one micro-batch on one device.
struct InputCosts {
  Seconds load;  ///< by all loader threads of a rank
  Seconds copy;  ///< to the device, on its path
};

InputCosts input_costs(const Network& network, const Machine& machine, Run run, Notes& notes) {
  run.ranks = 1;
  const IterationCosts costs = iteration_costs(network, machine, run, notes);
  const bool on_path = run.input_copy == InputCopy::on_path;
  return {costs.load.value, on_path ? costs.h2d.compute.value : Seconds()};
}

/// Times of layers for one micro-batch.
struct LayerCosts {
  std::vector<Seconds> forward;  ///< by layer
  std::vector<Seconds> backward;
  BackwardTimes steps;
};

LayerCosts layer_costs(const Network& network, const KernelTimes& kernels) {
  LayerCosts costs;
  costs.forward.resize(network.layers().size());
  costs.backward.resize(network.layers().size());
  for (const Step step : forward_steps(network)) {
    costs.forward[step.layer.index()] += kernels.time(step).value;
  }
  costs.steps.steps = backward_steps(network);
  for (const Step step : costs.steps.steps) {
    costs.steps.times.push_back(kernels.time(step).value);
    costs.backward[step.layer.index()] += costs.steps.times.back();
  }
  return costs;
}

class Staged {
 public:
  Staged(const Network& network, const Machine& machine, const Run& run, const ParallelPlan& plan,
         std::int64_t global_batch)
      : network_(network),
        stated_(machine),
        machine_(seen_by_rank(machine, run)),
        run_(run),
        plan_(plan),
        schedule_(parallel::find_schedule(plan.schedule)),
        facts_(facts_of(network, plan, global_batch)) {
    parallel::check(plan, run.ranks, facts_);
    const parallel::PlanBatches batches = batches_of(plan, facts_);
    if (*batches.micro_batch > most_images_per_rank) {
      throw ConfigError(fmt::format(
          "a micro-batch has {} samples, and at most {} fit any memory. Raise micro_batches.",
          *batches.micro_batch, most_images_per_rank));
    }
    run_.batch = static_cast<int>(*batches.micro_batch);
    check(run_);
    check_device(machine_.cluster, run_);
    result_.micro_batch = run_.batch;
    result_.shape = pipeline_of(plan, facts_);
    result_.copies = schedule_.copies;
    global_batch_ = static_cast<double>(global_batch);
  }

  StagedTraining find() {
    const Placement place{run_.ranks, run_.ranks_per_node};
    if (place.nodes() > machine_.cluster.nodes) {
      notes_.add(NoteKind::more_nodes, {machine_.cluster.nodes, machine_.cluster.name},
                 {place.nodes()});
    }
    const KernelTimes kernels(network_, machine_, run_, place.ranks_on_node(), notes_);
    layers_ = layer_costs(network_, kernels);
    input_ = input_costs(network_, machine_, run_, notes_);
    sums_.emplace(network_, run_, memory_rules(plan_, machine_.cluster.device.kind));
    links_ = stage_links(machine_, run_, plan_);
    const NetworkParts parts(network_, cut());
    result_.layers = parts.lengths();
    add_times(parts);
    scale_to_slowest();
    add_exchange(parts);
    add_memory(parts);
    add_rates();
    result_.notes = notes_.all();
    return std::move(result_);
  }

 private:
  [[nodiscard]] std::vector<int> cut() const;
  void add_times(const NetworkParts& parts);
  void scale_to_slowest();
  void add_exchange(const NetworkParts& parts);
  void add_memory(const NetworkParts& parts);
  void add_rates();
  [[nodiscard]] Seconds input_time() const;
  [[nodiscard]] Seconds again(std::size_t first, std::size_t end) const;
  [[nodiscard]] Seconds adding(Bytes gradients) const;

  const Network& network_;
  const Machine& stated_;
  Machine machine_;
  Run run_;  ///< its batch is a micro-batch
  const ParallelPlan& plan_;
  const PipelineSchedule& schedule_;
  parallel::NetworkFacts facts_;
  double global_batch_ = 1;
  Notes notes_;
  LayerCosts layers_;
  InputCosts input_;
  std::optional<LayerSums> sums_;
  std::vector<StageLink> links_;
  Seconds alone_;  ///< one device, all micro-batches of its pipeline and the update
  StagedTraining result_;
};

/// Time that a micro-batch takes to add its gradients to those before, over all micro-batches.
Seconds Staged::adding(Bytes gradients) const {
  constexpr double passes = 3;  // reads both, writes the sum
  const double of_all = 1 - 1.0 / result_.shape.micro_batches;
  return of_all * passes * gradients / machine_.cluster.device.memory_bandwidth;
}

/// Forward of the layers [first, end) of a part that is computed again.
Seconds Staged::again(std::size_t first, std::size_t end) const {
  if (plan_.recompute == Recompute::none) return {};
  if (plan_.recompute == Recompute::block) {
    end = std::min(end, first + static_cast<std::size_t>(plan_.recompute_layers));
  }
  const auto from = layers_.forward.begin();
  return std::accumulate(from + static_cast<std::ptrdiff_t>(first),
                         from + static_cast<std::ptrdiff_t>(end), Seconds());
}

std::vector<int> Staged::cut() const {
  if (!plan_.stage_layers.empty()) return plan_.stage_layers;
  const int parts = result_.shape.parts();
  std::vector<parallel::StageLayer> layers;
  for (std::size_t layer = 1; layer < network_.layers().size(); ++layer) {
    parallel::StageLayer& own = layers.emplace_back();
    own.time = layers_.forward[layer] + layers_.backward[layer];
    if (plan_.recompute == Recompute::full) own.time += layers_.forward[layer];
    own.states = sums_->states(layer);
    own.activations = sums_->activations(layer);
    if (!links_.empty()) own.message = 2 * links_.front().time(sums_->crossing(layer));
  }
  std::optional<std::vector<int>> found;
  const Bytes memory = memory_of_rank(stated_.cluster, run_);
  const bool one_part = schedule_.copies == 1 && plan_.chunks == 1;
  if (memory > Bytes() && one_part && plan_.recompute == Recompute::none) {
    found = cut_into_stages(layers, parts,
                            parallel::StageMemory{memory, usual_live(schedule_, result_.shape)});
  }
  if (!found) found = cut_into_stages(layers, parts);
  EXPECT(found);  // as many layers as parts, or facts_of() has thrown
  return *found;
}

void Staged::add_times(const NetworkParts& parts) {
  PipelineCosts& costs = result_.costs;
  std::size_t first = 0;
  for (std::size_t part = 0; part < parts.count(); ++part) {
    const std::size_t end = parts.last_layer(part) + 1;
    Seconds forward;
    Seconds backward;
    std::int64_t parameters = 0;
    for (std::size_t layer = first; layer < end; ++layer) {
      forward += layers_.forward[layer];
      backward += layers_.backward[layer];
      parameters += network_.layers()[layer].parameter_count();
    }
    const Bytes gradients(4.0 * static_cast<double>(parameters));
    alone_ += result_.shape.micro_batches * (forward + backward + adding(gradients));
    costs.forward.push_back(forward);
    costs.backward.push_back(backward + again(first, end) + adding(gradients));
    costs.backward_weights.emplace_back();
    for (std::size_t step = 0; step < layers_.steps.steps.size(); ++step) {
      const Step of = layers_.steps.steps[step];
      if (of.pass != Pass::backward_filter || parts.part_of(of.layer) != part) continue;
      costs.backward_weights.back() += layers_.steps.times[step];
    }
    Seconds update;
    if (parameters > 0) {
      update = update_cost(network_, machine_, run_, gradients, notes_).compute.value;
    }
    alone_ += update;
    costs.update.push_back(update);
    if (part + 1 < parts.count()) {
      costs.boundary.push_back(links_[part].time(sums_->crossing(end - 1)));
    }
    first = end;
  }
  alone_ += result_.shape.micro_batches * input_.copy;
}

/// Computing of all ranks takes as much longer as that of the copy for which the others wait.
void Staged::scale_to_slowest() {
  const double factor = slowest_copy(network_, machine_, run_, plan_,
                                     schedule_.schedule(result_.shape), result_.costs);
  PipelineCosts& costs = result_.costs;
  for (std::vector<Seconds>* times : {&costs.forward, &costs.backward, &costs.backward_weights,
                                      &costs.update, &layers_.steps.times}) {
    for (Seconds& time : *times) time = factor * time;
  }
  if (machine_.cluster.device.kind == DeviceKind::cpu) {  // its cores carry messages
    for (Seconds& time : costs.boundary) time = factor * time;
  }
  costs.forward.front() += input_.copy;  // by a link, which is as fast for all
}

void Staged::add_exchange(const NetworkParts& parts) {
  const parallel::Schedule list = schedule_.schedule(result_.shape);
  PipelineCosts computing = result_.costs;
  computing.update.clear();
  const PipelineTimeline without = timeline(list, computing);
  result_.bounds = closed_form(schedule_, result_.shape, computing);
  const Seconds last =
      std::accumulate(layers_.steps.times.begin(), layers_.steps.times.end(), Seconds());
  const Seconds before = std::max(without.time.makespan - last, Seconds());
  result_.exchanges = part_exchanges(network_, parts, machine_, run_, plan_, schedule_.copies,
                                     layers_.steps, before, notes_);
  result_.costs.reduce = reduce_times(list, without, result_.exchanges, run_.ranks_per_node);
  result_.pipeline = simulate(list, result_.costs);

  PipelineCosts silent = computing;
  silent.boundary.clear();
  const PipelineTime quiet = simulate(list, silent);
  StagedParts& time = result_.parts;
  const Seconds busiest = *std::ranges::max_element(quiet.busy);
  time.computing = std::accumulate(quiet.busy.begin(), quiet.busy.end(), Seconds()) /
                   static_cast<double>(quiet.busy.size());
  time.unequal = busiest - time.computing;
  time.bubble = quiet.makespan - busiest;
  time.messages = without.time.makespan - quiet.makespan;
  time.exchange = result_.pipeline.makespan - without.time.makespan;
  time.input = std::max(input_time() - result_.pipeline.makespan, Seconds());
  result_.total = result_.pipeline.makespan + time.input;
}

/// Until storage and the loader threads have delivered the samples of an iteration.
Seconds Staged::input_time() const {
  const std::vector<Rank> readers = parallel::Grid(plan_).group(0, parallel::Axis::data);
  const parallel::NodeSpread spread = parallel::spread_over_nodes(readers, run_.ranks_per_node);
  const Seconds storage =
      storage_time(machine_, {static_cast<int>(readers.size()), spread.most_on_node}, run_.batch);
  return result_.shape.micro_batches * std::max(input_.load, storage);
}

void Staged::add_memory(const NetworkParts& parts) {
  result_.memory = rank_memories(*sums_, parts, schedule_.copies, result_.pipeline.live);
  result_.device_memory = memory_of_rank(stated_.cluster, run_);
}

void Staged::add_rates() {
  result_.images_per_s = global_batch_ / result_.total.si();
  result_.speedup = plan_.data * (alone_ / result_.total);
  result_.efficiency = result_.speedup / run_.ranks;
}

}  // namespace

std::string_view StagedTraining::bound() const {
  const std::array<std::pair<Seconds, std::string_view>, 6> all{
      {{parts.computing, "computing"},
       {parts.unequal, "unequal stages"},
       {parts.bubble, "the bubble"},
       {parts.messages, "messages between stages"},
       {parts.exchange, "the exchange of gradients"},
       {parts.input, "input"}}};
  return std::ranges::max_element(all, {}, &std::pair<Seconds, std::string_view>::first)->second;
}

bool StagedTraining::fits() const {
  return device_memory > Bytes() && std::ranges::all_of(memory, [&](const PartMemory& rank) {
           return rank.total() <= device_memory;
         });
}

StagedTraining predict_stages(const Network& read, const Machine& machine, const Run& run,
                              const ParallelPlan& plan, std::int64_t global_batch) {
  check_axes(read, plan);
  const Network network = as_run(read, run);
  return Staged(network, machine, run, plan, global_batch).find();
}

}  // namespace dlscale::model
