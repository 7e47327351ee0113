#include "model/sgd_iter/costs/costs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/remedy.hpp"
#include "core/network/step.hpp"
#include "core/text/quantity_text.hpp"
#include "model/sgd_iter/costs/input_pipeline.hpp"
#include "model/sgd_iter/kernels/kernel_time.hpp"
#include "model/sgd_iter/kernels/memory.hpp"
#include "model/sgd_iter/messages/exchange_costs.hpp"
#include "model/sgd_iter/messages/message_time.hpp"
#include "model/sgd_iter/scaling/cluster_facts.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {
namespace {

constexpr double f32_bytes = 4;

/// Throws an error that names all parts of an iteration that were not measured, if there are any.
void check_complete(const Network& network, const Machine& machine, const Run& run) {
  std::vector<std::string_view> parts;
  std::vector<Remedy> remedies;
  const auto need = [&](bool is_there, std::string_view part, Remedy remedy) {
    if (is_there) return;
    parts.push_back(part);
    remedies.push_back(std::move(remedy));
  };
  need(!machine.fitted || !machine.kernels.empty(), "kernels",
       {.subject = "conv", .axes = {{"network", network.name()}, {"passes", "all"}}});
  need(!machine.h2d.empty(), "host-to-device copies", {.subject = "memory"});
  need(!machine.update.empty(), "parameter updates", {.subject = "update"});
  need(!machine.loaders.empty(), "the input pipeline", {.subject = "io"});
  if (parts.empty()) return;
  const bool in_node = run.ranks <= run.ranks_per_node;
  const LinkSpec& link = in_node ? machine.cluster.intra_node : machine.cluster.inter_node;
  need(run.ranks == 1 || !machine.collectives.empty() || link.bandwidth.si() > 0,
       "messages between ranks", {.subject = "comm", .ranks = 2});
  throw RemediableError(
      fmt::format("the machine description lacks {}, so an iteration cannot be predicted. Measure "
                  "on that machine, and calibrate with all results.",
                  fmt::join(parts, ", ")),
      std::move(remedies));
}

double apart(int a, int b) {
  return std::abs(std::log(static_cast<double>(a) / b));
}

/// Whether owners update their parameters, for which others wait. Published trainings with servers
/// are priced as if each rank updated all.
bool by_server(const Machine& machine, const Run& run) {
  return run.ranks > 1 && run.synchronisation == Synchronisation::parameter_server &&
         !exchanges_by_servers(machine, run);
}

/// Whether each rank updates all parameters after all messages.
bool updates_all_at_end(const Machine& machine, const Run& run) {
  return run.ranks == 1 || !(by_server(machine, run) || overlaps_next_forward(run.schedule));
}

bool overlaps_messages(Schedule schedule) {
  return schedule != Schedule::sequential;
}

/// Computing and messages beside each other both take 1 + ε times as long, so that computing loses
/// the share ε of the messages' time and the order of all stays. Votes of the hosts cost nothing.
ContentionCosts by_interference(const SheetDelays& delays) {
  constexpr Bytes more_than_a_vote(16);
  const auto both = Estimate<double>::exact(1 + delays.interference);
  ContentionCosts costs;
  costs.kinds.resize(2);
  costs.kinds.back().fill({both, both});
  costs.message.bounds = costs.gather.bounds = {more_than_a_vote};
  return costs;
}

class Costs {
 public:
  Costs(const Network& network, const Machine& machine, const Run& run, Notes& notes)
      : network_(&network),
        machine_(&machine),
        run_(&run),
        notes_(&notes),
        place_{run.ranks, run.ranks_per_node} {}
  IterationCosts find();
  /// Looks up kernels first if the machine is from data sheets.
  StepCost find_update(Bytes parameters);

 private:
  [[nodiscard]] bool on_cpu() const { return machine_->cluster.device.kind == DeviceKind::cpu; }
  [[nodiscard]] StepCost affine(const std::vector<AffineFit>& fits, Bytes size,
                                std::string_view what) const;
  [[nodiscard]] const LoaderFit& nearest_loader() const;
  [[nodiscard]] std::optional<TimeSource> load_source() const;
  [[nodiscard]] Estimate<Seconds> picture() const;
  [[nodiscard]] Estimate<Seconds> stated_picture(const LoaderFit& fit) const;
  [[nodiscard]] Bytes batch_size() const;
  [[nodiscard]] StepCost update(Bytes parameters) const;
  void add_cores(IterationPlan& plan) const;
  void add_steps(IterationCosts& costs) const;
  void add_running(const ExchangeCosts& exchange, IterationCosts& costs) const;
  void add_delays(IterationCosts& costs) const;
  void add_late(IterationCosts& costs, const std::vector<Bucket>& messages,
                const std::vector<std::size_t>& parts) const;
  void give_as_graphs(const GraphLaunch& launch, IterationCosts& costs) const;
  void give_at_once(IterationCosts& costs) const;

  const Network* network_;
  const Machine* machine_;
  const Run* run_;
  Notes* notes_;
  Placement place_;
  std::optional<KernelTimes> kernels_;
};

StepCost Costs::affine(const std::vector<AffineFit>& fits, Bytes size,
                       std::string_view what) const {
  const AffineFit& fit = noted_nearest(*machine_, fits, Conditions(*run_), what, *notes_);
  if (!fit.cost.covers(size)) {
    notes_->add(NoteKind::outside_measured_sizes, {what}, {size});
  }
  return {fit.cost.time(size), fit.give.value_or(Estimate<Seconds>{}), WorkKind::copy};
}

/// Thread time of an image as the cluster's description states it.
Estimate<Seconds> Costs::stated_picture(const LoaderFit& fit) const {
  const std::string& cluster = machine_->cluster.name;
  const double share = picture_share(*network_);
  const Estimate<Seconds> time = share * fit.picture();
  if (share < 1 && time.value > Seconds()) {
    notes_->add(remark(fmt::format(
        "pictures of {} × {} are stored at that size: they take {:.3f} of the bytes and the "
        "decoding of an ImageNet picture",
        network_->input().height, network_->input().width, share)));
  }
  if (time.value > Seconds()) {
    notes_->add(NoteKind::decoding_stated, {time.value, cluster});
  } else {
    notes_->add(NoteKind::decoding_unknown, {cluster});
  }
  return time;
}

const LoaderFit& Costs::nearest_loader() const {
  const ImageShape input = network_->input();
  const double pixels = static_cast<double>(input.height) * input.width;
  const auto distance = [&](const LoaderFit& fit) {
    const double ratio = fit.height * static_cast<double>(fit.width) / pixels;
    return std::pair(apart(fit.ranks_on_node, place_.ranks_on_node()), std::abs(std::log(ratio)));
  };
  return *std::min_element(
      machine_->loaders.begin(), machine_->loaders.end(),
      [&](const LoaderFit& a, const LoaderFit& b) { return distance(a) < distance(b); });
}

std::optional<TimeSource> Costs::load_source() const {
  if (network_->is_over_sequences()) return std::nullopt;
  const LoaderFit& fit = nearest_loader();
  if (!machine_->fitted) {
    return fit.picture().value > Seconds() ? std::optional(TimeSource::data_sheet) : std::nullopt;
  }
  const ImageShape input = network_->input();
  if (fit.height != input.height || fit.width != input.width) return TimeSource::extrapolated;
  const bool as_many = fit.ranks_on_node == place_.ranks_on_node();
  return as_many ? TimeSource::measured : TimeSource::other_ranks;
}

/// Thread time of an image at the network's input size. Reading and decoding do not depend on the
/// crop; augmentation is proportional to its pixels. Tokens need neither.
Estimate<Seconds> Costs::picture() const {
  if (network_->is_over_sequences()) return {};
  const ImageShape input = network_->input();
  const double pixels = static_cast<double>(input.height) * input.width;
  const LoaderFit& fit = nearest_loader();
  if (!machine_->fitted) return stated_picture(fit);
  if (fit.ranks_on_node != place_.ranks_on_node()) {
    notes_->add(NoteKind::loading_beside_other_ranks, {place_.ranks_on_node(), fit.ranks_on_node});
  }
  Estimate<Seconds> sum = fit.read;
  sum += fit.decode;
  if (fit.height == input.height && fit.width == input.width) {
    sum += fit.augment;
    return sum;
  }
  notes_->add(NoteKind::augmenting_scaled, {input.height, input.width, fit.height, fit.width});
  sum += pixels / (fit.height * static_cast<double>(fit.width)) * fit.augment;
  return sum;
}

/// Size of a batch during its copy to the device: f32, or bytes that the device converts.
Bytes Costs::batch_size() const {
  const auto elements = static_cast<double>(run_->batch * network_->input().elements());
  if (run_->normalisation == Normalisation::host) return Bytes(f32_bytes * elements);
  if (machine_->fitted) {
    notes_->add(NoteKind::device_normalization);
  }
  return Bytes(elements);
}

void Costs::add_cores(IterationPlan& plan) const {
  const int on_node = place_.ranks_on_node();
  const double share = static_cast<double>(machine_->cluster.host.cores) / on_node;
  plan.loader_cores = 1;
  plan.cores = share;
  if (!on_cpu()) return;
  plan.cores = std::min<double>(run_->cores_per_rank, share);
  plan.comm_cores = 1;
  // Measurements with more threads than cores ran on as few cores.
  plan.compute_cores = plan.copy_cores = std::min<double>(run_->compute_threads, plan.cores);
  if (share < run_->cores_per_rank) {
    notes_->add(NoteKind::cores_shared,
                {on_node, run_->cores_per_rank, machine_->cluster.host.cores, share});
  }
}

StepCost Costs::update(Bytes parameters) const {
  if (kernels_ && kernels_->update(parameters)) {
    return {*kernels_->update(parameters), {}, WorkKind::copy};
  }
  return affine(machine_->update, parameters, "the update");
}

/// Adds one part of backward for each message, and the steps after the last.
void Costs::add_steps(IterationCosts& costs) const {
  const KernelTimes& kernels = *kernels_;
  PhaseSources& sources = costs.sources;
  const auto cost = [&](Step step) {
    auto& source = step.pass == Pass::forward ? sources.forward : sources.backward;
    source = less_sure(source, kernels.source(step));
    return StepCost{kernels.time(step), kernels.give(step), work_kind(*network_, step)};
  };
  for (const Step step : forward_steps(*network_)) costs.forward.push_back(cost(step));
  const auto steps = backward_steps(*network_);
  std::size_t done = 0;
  const auto advance_to = [&](std::size_t end) {
    std::vector<StepCost>& part = costs.backward.emplace_back();
    for (; done < end; ++done) part.push_back(cost(steps[done]));
    costs.message.emplace_back();
  };
  if (run_->ranks > 1) {
    const ExchangeCosts exchange(*network_, *machine_, *run_, kernels, *notes_);
    std::vector<std::size_t> parts;
    add_running(exchange, costs);
    for (const Bucket& bucket : exchange.messages()) {
      if (costs.running) break;
      advance_to(std::max(done, ready_after(*network_, steps, bucket) + 1));
      costs.message.back() = exchange.cost(bucket);
      sources.communication = less_sure(sources.communication, exchange.source(bucket));
      costs.message.back()->layers = bucket.layers;
      parts.push_back(costs.message.size() - 1);
    }
    if (run_->schedule == Schedule::horovod) costs.packed = exchange.all_reduce();
    if (run_->schedule == Schedule::priority) {
      costs.choice = exchange.all_reduce()->time(vote_size);
    } else {
      costs.barrier = barrier_time(*machine_, place_, *notes_);
    }
    if (!updates_all_at_end(*machine_, *run_)) {
      costs.update = by_server(*machine_, *run_) ? update(exchange.most_owned()) : StepCost{};
    }
    if (overlaps_next_forward(run_->schedule)) add_late(costs, exchange.messages(), parts);
  }
  advance_to(steps.size());
}

void Costs::add_running(const ExchangeCosts& exchange, IterationCosts& costs) const {
  const std::optional<SheetServers> servers = exchange.running();
  if (!servers || exchange.messages().empty()) return;
  const Bytes gradients(f32_bytes * static_cast<double>(network_->parameter_count()));
  costs.running = {servers->transfer - servers->last, servers->last,
                   costs.contention.message.of(gradients)};
  costs.sources.communication = TimeSource::data_sheet;
}

/// Adds the terms of several ranks by data sheets.
void Costs::add_delays(IterationCosts& costs) const {
  if (run_->ranks == 1 && !machine_->level) return;
  costs.delays = sheet_delays(*machine_, place_, *network_);
  if (network_->parameter_count() == 0) return;
  if (exchanges_by_servers(*machine_, *run_)) {
    costs.delays.interference = sheet_servers(*machine_, *run_, *network_).interference;
  }
  if (!overlaps_messages(run_->schedule)) costs.delays.interference = 0;
  costs.facts = run_facts(*machine_, *run_, *network_, Seconds(1));
  if (run_->schedule == Schedule::horovod) {
    costs.vote = Seconds(nominal_scaling().parameters[scaling::Parameter::negotiation]);
  }
}

/// Adds late parts, each in front of the first layer of its message.
void Costs::add_late(IterationCosts& costs, const std::vector<Bucket>& messages,
                     const std::vector<std::size_t>& parts) const {
  std::vector<std::optional<std::size_t>> message_of(network_->layers().size());
  for (std::size_t i = 0; i < messages.size(); ++i) {
    for (const LayerId layer : messages[i].layers) message_of[layer.index()] = i;
  }
  std::vector<bool> awaited(messages.size());
  const auto steps = forward_steps(*network_);
  for (std::size_t step = 0; step < steps.size(); ++step) {
    const auto message = message_of[steps[step].layer.index()];
    if (!message || awaited[*message]) continue;
    awaited[*message] = true;
    costs.late.push_back({step, parts[*message], update(message_size(messages[*message]))});
  }
}

/// The host launches each stretch of the iteration as one graph: its time comes before the first
/// step of the stretch. Each step counts as one kernel.
void Costs::give_as_graphs(const GraphLaunch& launch, IterationCosts& costs) const {
  const auto give = [&](std::span<StepCost> stretch) {
    if (stretch.empty()) return;
    for (StepCost& step : stretch) step.give = Estimate<Seconds>{};
    stretch.front().give = launch.give(stretch.size());
    stretch.front().compute += launch.device_start;
  };
  give(costs.forward);
  for (auto& part : costs.backward) give(part);
  if (updates_all_at_end(*machine_, *run_) || by_server(*machine_, *run_)) give({&costs.update, 1});
  notes_->add(NoteKind::graph_launch,
              {launch.host_start.value, launch.host_per_kernel.value, launch.device_start.value});
}

/// Drops the launch times of steps, where no graph launch was measured.
void Costs::give_at_once(IterationCosts& costs) const {
  bool measured = costs.update.give.value > Seconds();
  const auto drop = [&](std::vector<StepCost>& steps) {
    for (StepCost& step : steps) {
      measured |= step.give.value > Seconds();
      step.give = {};
    }
  };
  drop(costs.forward);
  for (auto& part : costs.backward) drop(part);
  for (LateCost& one : costs.late) one.update.give = {};
  costs.update.give = {};
  if (measured) {
    notes_->add(NoteKind::graph_replay_free);
  } else {
    notes_->add(NoteKind::graph_launch_unknown);
  }
}

StepCost Costs::find_update(Bytes parameters) {
  if (!machine_->fitted) {
    kernels_.emplace(*network_, *machine_, *run_, place_.ranks_on_node(), *notes_);
  }
  return update(parameters);
}

IterationCosts Costs::find() {
  check_device(machine_->cluster, *run_);
  check_memory(*network_, machine_->cluster, *run_, *notes_,
               memory_traits(*network_, run_->dtype, machine_->software));
  check_complete(*network_, *machine_, *run_);
  kernels_.emplace(*network_, *machine_, *run_, place_.ranks_on_node(), *notes_);
  IterationCosts costs;
  costs.shape.loader_threads = run_->loader_threads;
  costs.shape.prefetch = run_->prefetch;
  costs.shape.schedule = run_->schedule;
  if (run_->schedule == Schedule::priority) costs.shape.window = run_->settings.credit;
  if (run_->schedule == Schedule::horovod && run_->ranks > 1) {
    notes_->add(NoteKind::horovod_cycle, {run_->settings.cycle});
  }
  costs.shape.input_copy = run_->input_copy;
  const Bytes stored = stored_size(*machine_, *network_);
  costs.shape.storage = storage_time(*machine_, place_, run_->batch, stored);
  costs.shape.shared_storage = shared_storage(*machine_, place_, run_->batch, stored);
  add_cores(costs.shape);
  costs.load = static_cast<double>(run_->batch) / run_->loader_threads * picture();
  const Bytes images = batch_size();
  costs.h2d = affine(machine_->h2d, images, "the host-to-device copy");
  const double parameters = f32_bytes * static_cast<double>(network_->parameter_count());
  costs.sources.load = load_source();
  costs.sources.h2d = affine_source(*machine_, machine_->h2d, Conditions(*run_), images);
  costs.sources.update =
      affine_source(*machine_, machine_->update, Conditions(*run_), Bytes(parameters));
  if (updates_all_at_end(*machine_, *run_)) costs.update = update(Bytes(parameters));
  costs.settings = run_->settings;
  costs.by_sheets = !machine_->fitted;
  if (costs.by_sheets) add_delays(costs);
  const RankCores cores{costs.shape.cores, costs.shape.compute_cores};
  costs.contention = contention_costs(*machine_, *run_, cores, *notes_);
  if (costs.delays.interference > 0) costs.contention = by_interference(costs.delays);
  add_steps(costs);
  if (run_->launch == Launch::eager) return costs;
  if (machine_->graph_launch) {
    give_as_graphs(*machine_->graph_launch, costs);
  } else {
    give_at_once(costs);
  }
  return costs;
}

}  // namespace

void check_device(const Cluster& cluster, const Run& run) {
  if (cluster.device.kind == DeviceKind::gpu) return;
  const auto refuse = [&](std::string_view what, std::string_view why, std::string_view instead) {
    throw ConfigError(fmt::format(
        "{} cannot be predicted on cluster {}, whose device is a processor ({}). Ask for {}, or "
        "calibrate with the cluster of the GPUs that were measured.",
        what, cluster.name, why, instead));
  };
  if (run.input_copy != InputCopy::on_path) {
    refuse("batches copied ahead", "it has no copy engine", "copies on the path");
  }
  if (run.normalisation != Normalisation::host) {
    refuse("pictures normalised on the device", "it reads what the host wrote",
           "pictures normalised on the host");
  }
  if (run.launch != Launch::eager) {
    refuse("graphs of kernels", "it launches none", "eager launches");
  }
}

StepCost update_cost(const Network& network, const Machine& machine, const Run& run,
                     Bytes parameters, Notes& notes) {
  return Costs(network, machine, run, notes).find_update(parameters);
}

IterationCosts iteration_costs(const Network& network, const Machine& machine, const Run& run,
                               Notes& notes) {
  IterationCosts costs = Costs(network, machine, run, notes).find();
  if (machine.level && costs.facts) apply_level(machine, run, costs);
  return costs;
}

}  // namespace dlscale::model
