#include "model/parallel/stages/predict_stages.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

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
#include "model/parallel/parts/stage_cut.hpp"
#include "model/parallel/pipeline/makespans.hpp"
#include "model/parallel/stages/layer_costs.hpp"
#include "model/parallel/stages/slowest_copy.hpp"
#include "model/parallel/stages/stage_links.hpp"
#include "model/parallel/stages/strips.hpp"
#include "model/sgd_iter/costs/costs.hpp"
#include "model/sgd_iter/costs/input_pipeline.hpp"
#include "model/sgd_iter/kernels/kernel_time.hpp"
#include "model/sgd_iter/kernels/memory.hpp"
#include "model/sgd_iter/uncertain_iteration.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {
namespace {

using parallel::ParallelPlan;
using parallel::PipelineSchedule;
using parallel::PipelineShape;
using parallel::Recompute;

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
  if (cluster.device.kind != DeviceKind::cpu || machine.fitted) return machine;
  const double share =
      std::min(1.0, static_cast<double>(cluster.devices_per_node) / run.ranks_per_node);
  for (auto& [precision, peak] : cluster.device.peak) peak = share * peak;
  cluster.device.memory_bandwidth = share * cluster.device.memory_bandwidth;
  cluster.intra_node.bandwidth = share * cluster.intra_node.bandwidth;
  return machine;
}

class Staged {
 public:
  /// `network` is a strip of `whole`, or the same.
  Staged(const Network& whole, const Network& network, const Machine& machine, const Run& run,
         const ParallelPlan& plan, std::int64_t global_batch)
      : whole_(whole),
        network_(network),
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
    const InputCosts input = strip_input();
    LayerCosts layers = layer_costs(network_, kernels, input, Bound::value);
    result_.device_memory = memory_of_rank(stated_.cluster, run_);
    sums_.emplace(network_, run_, memory_rules(plan_, machine_.cluster.device.kind));
    if (plan_.context > 1)
      sums_ = sums_->with_shares(kept_with_neighbours(whole_, network_, plan_.context));
    strip_messages_ = strip_messages(network_, machine_, run_, plan_);
    links_ = stage_links(machine_, run_, plan_);
    const ChosenCut chosen = cut(layers);
    std::optional<Seconds> quicker;
    if (chosen.quicker) {
      Notes same;
      LayerCosts alike = layers;
      quicker = iterate(NetworkParts(network_, chosen.quicker->layers), alike, same).total;
    }
    const NetworkParts parts(network_, chosen.cut.layers);
    result_.layers = parts.lengths();
    static_cast<StagedIteration&>(result_) = iterate(parts, layers, notes_);
    if (quicker) note_memory(chosen, *quicker);
    if (!machine_.fitted) add_errors(parts, kernels, input);
    add_memory(parts);
    add_rates();
    result_.notes = notes_.all();
    return std::move(result_);
  }

 private:
  [[nodiscard]] InputCosts strip_input();
  StagedIteration iterate(const NetworkParts& parts, LayerCosts& layers, Notes& notes);
  void note_memory(const ChosenCut& chosen, Seconds quicker);
  void add_updates(const NetworkParts& parts);
  [[nodiscard]] Seconds alone() const;
  [[nodiscard]] Seconds messages_of(const NetworkParts& parts, std::size_t part, int layers) const;
  [[nodiscard]] ChosenCut cut(const LayerCosts& layers) const;
  [[nodiscard]] PipelineCosts passes(const NetworkParts& parts, const LayerCosts& layers) const;
  [[nodiscard]] StagedIteration computed(const NetworkParts& parts, const LayerCosts& layers,
                                         Bound bound) const;
  void finish(const NetworkParts& parts, LayerCosts& layers, StagedIteration& iteration,
              Notes& notes) const;
  void slow_down(const NetworkParts& parts, LayerCosts& layers, StagedIteration& iteration) const;
  void add_exchange(const NetworkParts& parts, const LayerCosts& layers, StagedIteration& iteration,
                    Notes& notes) const;
  void add_errors(const NetworkParts& parts, const KernelTimes& kernels, const InputCosts& input);
  void add_memory(const NetworkParts& parts);
  void add_rates();
  [[nodiscard]] Seconds input_time(const LayerCosts& layers) const;
  [[nodiscard]] Seconds again(const LayerCosts& layers, std::size_t first, std::size_t end) const;
  [[nodiscard]] Seconds adding(Bytes gradients) const;
  [[nodiscard]] memory::LibraryMemory libraries() const;

  const Network& whole_;    ///< for whole images
  const Network& network_;  ///< as a rank computes it
  const Machine& stated_;
  Machine machine_;
  Run run_;  ///< its batch is a micro-batch
  const ParallelPlan& plan_;
  const PipelineSchedule& schedule_;
  parallel::NetworkFacts facts_;
  double global_batch_ = 1;
  Notes notes_;
  std::optional<LayerSums> sums_;
  std::vector<StageLink> links_;
  std::vector<Seconds> strip_messages_;     ///< by layer, one way
  std::vector<Estimate<Seconds>> updates_;  ///< by part
  double slowest_ = 1;                      ///< slowest_copy()
  StagedTraining result_;
};

/// Time that a micro-batch takes to add its gradients to those before, over all micro-batches.
Seconds Staged::adding(Bytes gradients) const {
  constexpr double passes = 3;  // reads both, writes the sum
  const double of_all = 1 - 1.0 / result_.shape.micro_batches;
  return of_all * passes * gradients / machine_.cluster.device.memory_bandwidth;
}

/// Every rank of a strip reads whole pictures, and copies its own rows.
InputCosts Staged::strip_input() {
  InputCosts input = input_costs(whole_, machine_, run_, notes_);
  input.copy = 1.0 / plan_.context * input.copy;
  return input;
}

/// The iteration of a cut; `layers` become those of the slowest copy.
StagedIteration Staged::iterate(const NetworkParts& parts, LayerCosts& layers, Notes& notes) {
  add_updates(parts);
  StagedIteration value = computed(parts, layers, Bound::value);
  slowest_ = slowest_copy(network_, machine_, run_, plan_, schedule_, result_.shape, value.costs);
  finish(parts, layers, value, notes);
  return value;
}

/// A note on the time that memory costs by its choice of the cut, if any.
void Staged::note_memory(const ChosenCut& chosen, Seconds quicker) {
  constexpr double least_shown = 1e-3;
  const double less = 1 - quicker / result_.total;
  if (less < least_shown) return;
  notes_.add(NoteKind::memory_cuts_stages, {},
             {fmt::format("{}", fmt::join(chosen.quicker->layers, "/")), 100 * less,
              fit_level_text(chosen.quicker->level), fit_level_text(chosen.cut.level)});
}

void Staged::add_updates(const NetworkParts& parts) {
  updates_.clear();
  std::vector<double> parameters(parts.count());
  for (const Layer& layer : network_.layers()) {
    parameters[parts.part_of(layer.id)] += static_cast<double>(layer.parameter_count());
  }
  for (const double count : parameters) {
    if (count == 0) {
      updates_.emplace_back();
    } else {
      updates_.push_back(update_cost(network_, machine_, run_, Bytes(4.0 * count), notes_).compute);
    }
  }
}

/// One device that trains the images of an iteration by itself: all at once, as far as a rank may
/// have so many.
Seconds Staged::alone() const {
  Run one = run_;
  one.ranks = 1;
  one.batch = static_cast<int>(std::min(global_batch_, double{most_images_per_rank}));
  return global_batch_ / one.batch * uncertain_iteration(whole_, machine_, one).value();
}

/// Messages between strips for a micro-batch and part, one way.
Seconds Staged::messages_of(const NetworkParts& parts, std::size_t part, int layers) const {
  Seconds sum;
  for (const Layer& layer : network_.layers()) {
    if (parts.part_of(layer.id) == part && layers-- > 0) sum += strip_messages_[layer.id.index()];
  }
  return sum;
}

/// Forward of the layers [first, end) of a part that is computed again.
Seconds Staged::again(const LayerCosts& layers, std::size_t first, std::size_t end) const {
  if (plan_.recompute == Recompute::none) return {};
  if (plan_.recompute == Recompute::block) {
    end = std::min(end, first + static_cast<std::size_t>(plan_.recompute_layers));
  }
  const auto from = layers.forward.begin();
  return std::accumulate(from + static_cast<std::ptrdiff_t>(first),
                         from + static_cast<std::ptrdiff_t>(end), Seconds());
}

ChosenCut Staged::cut(const LayerCosts& costs) const {
  if (!plan_.stage_layers.empty()) return {{plan_.stage_layers}};
  std::vector<parallel::StageLayer> layers;
  for (const Layer& layer : network_.layers()) {
    const std::size_t at = layer.id.index();
    if (at == 0) continue;  // the input
    parallel::StageLayer& own = layers.emplace_back();
    own.time = costs.forward[at] + costs.backward[at] +
               adding(Bytes(4.0 * static_cast<double>(layer.parameter_count())));
    if (plan_.recompute == Recompute::full) own.time += costs.forward[at];
    if (!links_.empty()) own.message = 2 * links_.front().time(sums_->crossing(at));
  }
  layers.front().time += costs.copy;
  const int parts = result_.shape.parts();
  if (schedule_.copies > 1 || plan_.chunks > 1) {
    return {{*parallel::cut_into_stages(layers, parts)}};
  }
  std::optional<CutMemory> memory;
  if (result_.device_memory > Bytes()) {
    memory = {&*sums_, usual_live(schedule_, result_.shape), libraries(), result_.device_memory};
  }
  const Makespans makespans(schedule_, result_.shape);
  const auto time = [&](const std::vector<int>& lengths) {
    return makespans.of(passes(NetworkParts(network_, lengths), costs));
  };
  return cut_by_time_and_memory(layers, parts, time, memory);
}

/// The costs of all parts but their reduces.
StagedIteration Staged::computed(const NetworkParts& parts, const LayerCosts& layers,
                                 Bound bound) const {
  StagedIteration iteration{.costs = passes(parts, layers)};
  for (const Estimate<Seconds>& update : updates_) {
    iteration.costs.update.push_back(end_of(update, bound));
  }
  return iteration;
}

/// The costs of all parts but their reduces and updates.
PipelineCosts Staged::passes(const NetworkParts& parts, const LayerCosts& layers) const {
  PipelineCosts costs;
  std::size_t first = 0;
  for (std::size_t part = 0; part < parts.count(); ++part) {
    const std::size_t end = parts.last_layer(part) + 1;
    Seconds forward;
    Seconds backward;
    std::int64_t parameters = 0;
    for (std::size_t layer = first; layer < end; ++layer) {
      forward += layers.forward[layer];
      backward += layers.backward[layer];
      parameters += network_.layers()[layer].parameter_count();
    }
    const Bytes gradients(4.0 * static_cast<double>(parameters));
    costs.forward.push_back(forward);
    costs.backward.push_back(backward + again(layers, first, end) + adding(gradients));
    costs.backward_weights.emplace_back();
    for (std::size_t step = 0; step < layers.steps.steps.size(); ++step) {
      const Step of = layers.steps.steps[step];
      if (of.pass != Pass::backward_filter || parts.part_of(of.layer) != part) continue;
      costs.backward_weights.back() += layers.steps.times[step];
    }
    if (part + 1 < parts.count()) {
      costs.boundary.push_back(links_[part].time(sums_->crossing(end - 1)));
    }
    first = end;
  }
  return costs;
}

/// Computing of all ranks takes as much longer as that of the copy for which the others wait.
void Staged::slow_down(const NetworkParts& parts, LayerCosts& layers,
                       StagedIteration& iteration) const {
  PipelineCosts& costs = iteration.costs;
  for (std::vector<Seconds>* times : {&costs.forward, &costs.backward, &costs.backward_weights,
                                      &costs.update, &layers.steps.times}) {
    for (Seconds& time : *times) time = slowest_ * time;
  }
  if (machine_.cluster.device.kind == DeviceKind::cpu) {  // its cores carry messages
    for (Seconds& time : costs.boundary) time = slowest_ * time;
  }
  costs.forward.front() += layers.copy;  // by a link, which is as fast for all
  constexpr int all = std::numeric_limits<int>::max();
  const int layers_again = plan_.recompute == Recompute::none    ? 0
                           : plan_.recompute == Recompute::block ? plan_.recompute_layers
                                                                 : all;
  for (std::size_t part = 0; plan_.context > 1 && part < parts.count(); ++part) {
    const Seconds messages = messages_of(parts, part, all);
    const Seconds anew = messages_of(parts, part, layers_again);  // rows are received anew
    costs.forward[part] += messages;
    costs.backward[part] += messages + anew;
    iteration.parts.strips +=
        static_cast<double>(result_.shape.micro_batches) / plan_.stages * (2 * messages + anew);
  }
}

void Staged::finish(const NetworkParts& parts, LayerCosts& layers, StagedIteration& iteration,
                    Notes& notes) const {
  slow_down(parts, layers, iteration);
  add_exchange(parts, layers, iteration, notes);
}

void Staged::add_exchange(const NetworkParts& parts, const LayerCosts& layers,
                          StagedIteration& iteration, Notes& notes) const {
  const parallel::Schedule list = schedule_.schedule(result_.shape);
  PipelineCosts computing = iteration.costs;
  computing.update.clear();
  const PipelineTimeline without = timeline(list, computing);
  iteration.bounds = closed_form(schedule_, result_.shape, computing);
  const Seconds last =
      std::accumulate(layers.steps.times.begin(), layers.steps.times.end(), Seconds());
  const Seconds before = std::max(without.time.makespan - last, Seconds());
  iteration.exchanges = part_exchanges(network_, parts, machine_, run_, plan_, schedule_.copies,
                                       layers.steps, before, notes);
  iteration.costs.reduce = reduce_times(list, without, iteration.exchanges, run_.ranks_per_node);
  iteration.pipeline = simulate(list, iteration.costs);

  PipelineCosts silent = computing;
  silent.boundary.clear();
  const PipelineTime quiet = simulate(list, silent);
  StagedParts& time = iteration.parts;
  const Seconds busiest = *std::ranges::max_element(quiet.busy);
  time.computing = std::accumulate(quiet.busy.begin(), quiet.busy.end(), Seconds()) /
                       static_cast<double>(quiet.busy.size()) -
                   time.strips;
  time.unequal = busiest - time.computing - time.strips;
  time.bubble = quiet.makespan - busiest;
  time.messages = without.time.makespan - quiet.makespan;
  time.exchange = iteration.pipeline.makespan - without.time.makespan;
  time.input = std::max(input_time(layers) - iteration.pipeline.makespan, Seconds());
  iteration.total = iteration.pipeline.makespan + time.input;
}

/// Until storage and the loader threads have delivered the samples of an iteration.
Seconds Staged::input_time(const LayerCosts& layers) const {
  constexpr std::array axes{parallel::Axis::data, parallel::Axis::context};
  const std::vector<Rank> readers = parallel::Grid(plan_).group(0, axes);
  const parallel::NodeSpread spread = parallel::spread_over_nodes(readers, run_.ranks_per_node);
  const Seconds storage =
      storage_time(machine_, {static_cast<int>(readers.size()), spread.most_on_node}, run_.batch,
                   stored_size(stated_, whole_));
  return result_.shape.micro_batches * std::max(layers.load, storage);
}

void Staged::add_errors(const NetworkParts& parts, const KernelTimes& kernels,
                        const InputCosts& input) {
  const auto total_at = [&](Bound bound) {
    Notes same;  // as at the value
    LayerCosts layers = layer_costs(network_, kernels, input, bound);
    StagedIteration iteration = computed(parts, layers, bound);
    finish(parts, layers, iteration, same);
    return iteration.total;
  };
  StageErrors& errors = result_.errors.emplace();
  errors.computing = {std::min(total_at(Bound::low) / result_.total, 1.0),
                      std::max(total_at(Bound::high) / result_.total, 1.0)};
  const StagedParts& time = result_.parts;
  const Seconds copies = result_.shape.micro_batches * input.copy.value;
  const Seconds alone = (time.computing + time.unequal + time.bubble + time.messages + time.strips -
                         copies + *std::ranges::max_element(result_.costs.update)) /
                        slowest_;
  errors.exchange = exchange_errors(network_, machine_, run_, parts, result_.exchanges, alone);
  errors.pipeline = pipeline_errors(plan_.stages * plan_.context);
}

memory::LibraryMemory Staged::libraries() const {
  if (machine_.cluster.device.kind == DeviceKind::cpu) return {};
  constexpr std::array axes{parallel::Axis::data, parallel::Axis::context, parallel::Axis::stages};
  return memory::library_memory(static_cast<int>(std::ranges::count_if(
      axes, [&](parallel::Axis axis) { return parallel::ranks_along(axis, plan_) > 1; })));
}

void Staged::add_memory(const NetworkParts& parts) {
  result_.memory = rank_memories(*sums_, parts, schedule_.copies, result_.pipeline.live);
  result_.libraries = libraries();
}

void Staged::add_rates() {
  result_.images_per_s = global_batch_ / result_.total.si();
  result_.alone = alone();
  result_.speedup = result_.alone / result_.total;
  result_.efficiency = result_.speedup / run_.ranks;
}

}  // namespace

void check_stage_axes(const Network& network, const ParallelPlan& plan) {
  const std::array<std::pair<std::string_view, bool>, 8> others{
      {{"tensor", plan.tensor > 1},
       {"sequence_parallel", plan.sequence_parallel},
       {"tensor_overlap", plan.tensor_overlap.has_value()},
       {"experts", plan.experts > 1},
       {"branches", plan.branches > 1},
       {"zero", plan.zero > 0},
       {"compile", plan.compile.has_value()},
       {"recompute=selective", plan.recompute == Recompute::selective}}};
  for (const auto& [name, asked] : others) {
    if (!asked) continue;
    throw ConfigError(
        fmt::format("the plan has {}, and {} is predicted by its layers: in stages, in strips of "
                    "images (context) and in copies for data parallelism. Leave it out, or take a "
                    "transformer of equal layers.",
                    name, network.name()));
  }
}

StagedTraining predict_stages(const Network& read, const Machine& machine, const Run& run,
                              const ParallelPlan& plan, std::int64_t global_batch) {
  check_stage_axes(read, plan);
  const Network whole = as_run(read, run);
  const Network network = strip_of(whole, plan.context);
  return Staged(whole, network, machine, run, plan, global_batch).find();
}

}  // namespace dlscale::model
