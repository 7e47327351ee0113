#include "model/what_if/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "core/base/error.hpp"
#include "core/network/relu_fusion.hpp"
#include "core/text/quantity_text.hpp"
#include "model/machine/machine.hpp"
#include "model/sgd_iter/costs/costs.hpp"
#include "model/sgd_iter/costs/input_pipeline.hpp"
#include "model/sgd_iter/graph/closed_form.hpp"
#include "model/sgd_iter/graph/iteration.hpp"
#include "model/sgd_iter/messages/all_reduce_override.hpp"
#include "model/sgd_iter/predict.hpp"
#include "model/topology/topology.hpp"
#include "model/what_if/scaled_machine.hpp"

namespace dlscale::model {
namespace {

/// Collects changes of one setting each.
class Changes {
 public:
  Changes(const Machine& machine, const Run& run) : machine_(&machine), run_(&run) {}
  std::vector<Change> find();

 private:
  template <class Edit>
  void add(std::string_view setting, std::string value, const Edit& edit) {
    Change change{setting, std::move(value), *run_, {}};
    edit(change);
    changes_.push_back(std::move(change));
  }
  [[nodiscard]] bool on_gpu() const { return machine_->cluster.device.kind == DeviceKind::gpu; }
  void add_schedules();
  void add_shardings();
  void add_settings();
  void add_all_reduces();
  void add_input();
  void add_compute();
  void add_batches();

  const Machine* machine_;
  const Run* run_;
  std::vector<Change> changes_;
};

void Changes::add_schedules() {
  const bool by_server = run_->synchronisation == Synchronisation::parameter_server;
  for (const Schedule schedule : all_schedules) {
    if (schedule == run_->schedule) continue;
    if (by_server &&
        !(goes_with_server(schedule) && goes_with_sharding(schedule, run_->settings.sharding))) {
      continue;
    }
    add("schedule", std::string(schedule_name(schedule)),
        [&](Change& change) { change.run.schedule = schedule; });
  }
  if (by_server) {
    add("synchronisation", "all_reduce", [](Change& change) {
      change.run.synchronisation = Synchronisation::all_reduce;
      change.run.settings.servers = 0;
      change.run.settings.sharding = Sharding::largest_first;
    });
    add_shardings();
  }
}

/// The other rules by which servers may own parameters.
void Changes::add_shardings() {
  for (const Sharding sharding : all_shardings) {
    const bool now = sharding == run_->settings.sharding;
    if (now || !goes_with_sharding(run_->schedule, sharding)) continue;
    add("sharding", std::string(sharding_name(sharding)),
        [&](Change& change) { change.run.settings.sharding = sharding; });
  }
}

/// Adds half and twice the values of the schedule's parameters.
void Changes::add_settings() {
  const ScheduleSettings& now = run_->settings;
  for (const double factor : {0.5, 2.0}) {
    if (run_->schedule == Schedule::horovod) {
      const Bytes threshold = factor * now.fusion_threshold;
      add("fusion threshold", to_text(threshold),
          [&](Change& change) { change.run.settings.fusion_threshold = threshold; });
      const Seconds cycle = factor * now.cycle;
      add("cycle", to_text(cycle), [&](Change& change) { change.run.settings.cycle = cycle; });
    }
    if (run_->schedule != Schedule::priority) continue;
    const Bytes partition = factor * now.partition;
    if (partition < 4_B) continue;
    add("partition", to_text(partition),
        [&](Change& change) { change.run.settings.partition = partition; });
  }
}

/// Whether switches may add: SHARP is of InfiniBand alone.
bool may_have_adding_switches(const Cluster& cluster) {
  std::string name = cluster.network ? cluster.network->kind : cluster.inter_node.name;
  std::ranges::transform(name, name.begin(), [](unsigned char letter) {
    return static_cast<char>(std::tolower(letter));
  });
  return name.find("infiniband") != std::string::npos;
}

/// Adds other all-reduces by the words of predict --all-reduce. "best" is the fastest of those that
/// name an algorithm.
void Changes::add_all_reduces() {
  if (run_->synchronisation != Synchronisation::all_reduce) return;
  const Cluster& cluster = machine_->cluster;
  const auto add_word = [&](std::string_view word) {
    add("all-reduce", std::string(word), [&](Change& change) { change.all_reduce = word; });
  };
  if (machine_->all_reduce_override.empty()) {
    add_word("best");
    if (cluster.nccl && !machine_->fitted) add_word("nccl");
  }
  const Placement place{run_->ranks, run_->ranks_per_node};
  if (machine_->all_reduce_override != adding_switches && place.nodes() > 1 &&
      may_have_adding_switches(cluster)) {
    add_word(adding_switches);
  }
}

void Changes::add_input() {
  if (run_->loader_threads <= std::numeric_limits<int>::max() / 2) {
    const int threads = 2 * run_->loader_threads;
    add("loader threads", std::to_string(threads),
        [&](Change& change) { change.run.loader_threads = threads; });
  }
  if (!on_gpu()) return;
  if (run_->input_copy != InputCopy::ahead) {
    add("input copy", "ahead", [](Change& change) { change.run.input_copy = InputCopy::ahead; });
  }
  if (run_->normalisation != Normalisation::device) {
    add("normalize", "device",
        [](Change& change) { change.run.normalisation = Normalisation::device; });
  }
}

void Changes::add_compute() {
  if (!run_->fuse_relu) {
    add("fuse", "relu", [](Change& change) { change.run.fuse_relu = true; });
  }
  if (on_gpu() && run_->launch != Launch::graph && !overlaps_next_forward(run_->schedule)) {
    add("launch", "graph", [](Change& change) { change.run.launch = Launch::graph; });
  }
  for (const DType dtype : all_dtypes) {
    if (dtype == run_->dtype || !machine_->cluster.device.peak.contains(dtype)) continue;
    add("data type", std::string(dtype_name(dtype)),
        [&](Change& change) { change.run.dtype = dtype; });
  }
}

void Changes::add_batches() {
  if (run_->batch % 2 == 0) {
    add("batch", std::to_string(run_->batch / 2),
        [&](Change& change) { change.run.batch = run_->batch / 2; });
  }
  if (run_->batch > std::numeric_limits<int>::max() / 2) return;
  add("batch", std::to_string(2 * run_->batch),
      [&](Change& change) { change.run.batch = 2 * run_->batch; });
}

std::vector<Change> Changes::find() {
  if (run_->ranks > 1) {
    add_schedules();
    add_settings();
    add_all_reduces();
  }
  add_input();
  add_compute();
  add_batches();
  return std::move(changes_);
}

/// The iteration alone, at the values of all parameters.
Seconds iteration_of(const Network& network, const Machine& machine, const Run& run) {
  check(run);
  Notes notes;
  const Network running = as_run(network, run);
  const IterationCosts costs = iteration_costs(running, machine, run, notes);
  return simulate_iteration(costs.plan({}, Bound::value)).total;
}

/// Hardware properties that change together.
struct Input {
  std::string name;
  std::vector<Hardware> what;
};

bool gives_kernels(const Machine& machine) {
  const auto gives = [](const KernelTime& kernel) { return kernel.give.has_value(); };
  return machine.fitted ? std::ranges::any_of(machine.kernels, gives)
                        : machine.cluster.device.launch > Seconds();
}

/// The inputs that may matter to the run.
std::vector<Input> inputs_of(const Machine& machine, const Run& run) {
  std::vector<Input> inputs;
  const auto add = [&](std::string name, std::vector<Hardware> what) {
    inputs.push_back({std::move(name), std::move(what)});
  };
  const auto alone = [&](Hardware what) { add(std::string(hardware_name(what)), {what}); };
  add("device as a whole", {Hardware::peak, Hardware::memory_bandwidth, Hardware::launch});
  alone(Hardware::peak);
  alone(Hardware::memory_bandwidth);
  if (gives_kernels(machine)) alone(Hardware::launch);
  alone(Hardware::host_device_bandwidth);
  alone(Hardware::host_device_latency);
  alone(Hardware::decode);
  if (machine.cluster.storage.read_bandwidth.si() > 0) alone(Hardware::storage_bandwidth);
  const Placement place{run.ranks, run.ranks_per_node};
  if (place.ranks_on_node() > 1) {
    alone(Hardware::intra_node_bandwidth);
    alone(Hardware::intra_node_latency);
  }
  if (place.nodes() > 1) {
    alone(Hardware::inter_node_bandwidth);
    alone(Hardware::inter_node_latency);
  }
  if (run.ranks > 1) {  // fewer bytes are the same as faster wires
    add("bytes of gradients", {Hardware::intra_node_bandwidth, Hardware::inter_node_bandwidth});
  }
  return inputs;
}

std::vector<Sensitivity> sensitivities(const Network& network, const Machine& machine,
                                       const Run& run) {
  std::vector<Sensitivity> result;
  for (const Input& input : inputs_of(machine, run)) {
    const auto with = [&](double factor) {
      return iteration_of(network, scaled_machine(machine, input.what, factor), run);
    };
    result.push_back({input.name, with(sensitivity_step), with(1 / sensitivity_step)});
  }
  std::ranges::stable_sort(result, {}, [](const Sensitivity& one) { return one.better; });
  return result;
}

Advice predicted(const Network& network, Machine machine, const Change& change) {
  Advice advice{change.setting, change.value, {}, 0, {}};
  try {
    if (!change.all_reduce.empty()) set_all_reduce(machine, change.all_reduce);
    advice.iteration = iteration_of(network, machine, change.run);
    advice.images_per_s = throughput(change.run.ranks, change.run.batch, advice.iteration);
  } catch (const ConfigError& error) {
    advice.why_not = error.what();
  }
  return advice;
}

std::vector<Advice> all_advice(const Network& network, const Machine& machine, const Run& run) {
  std::vector<Advice> result;
  for (const Change& change : changes_of(machine, run)) {
    result.push_back(predicted(network, machine, change));
  }
  std::ranges::stable_sort(result, {}, [](const Advice& one) {
    return std::tuple(!one.why_not.empty(), -one.images_per_s);
  });
  return result;
}

void drop_input(IterationPlan& plan) {
  plan.load = {};
  plan.storage = {};
}

void drop_copy(IterationPlan& plan) {
  plan.h2d = {};
}

void drop_forward(IterationPlan& plan) {
  plan.forward = {};
  for (ForwardPart& part : plan.late) part.compute = {};
}

void drop_backward(IterationPlan& plan) {
  for (BackwardPart& part : plan.backward) part.compute = {};
}

/// Sets computing of the slowest rank to the mean.
void drop_waiting(IterationPlan& plan) {
  const auto shorten = [&](LaunchedWork& work) {
    work.device = work.device / plan.slowest;
    work.together = work.together / plan.slowest;
    for (Seconds& part : work.of_kind) part = part / plan.slowest;
  };
  shorten(plan.forward);
  shorten(plan.update);
  for (ForwardPart& part : plan.late) {
    shorten(part.update);
    shorten(part.compute);
  }
  for (BackwardPart& part : plan.backward) shorten(part.compute);
  plan.slowest = 1;
}

/// Sets messages, with their meetings, choices and votes, and waiting to no time.
void drop_communication(IterationPlan& plan) {
  if (plan.slowest > 1) drop_waiting(plan);
  plan.meeting = {};
  plan.packing.reset();
  plan.choice = {};
  plan.barrier = {};
  for (BackwardPart& part : plan.backward) {
    if (part.message) part.message = Seconds();
    if (part.gather) part.gather = Seconds();
    part.pieces.clear();
  }
}

void drop_update(IterationPlan& plan) {
  plan.update = {};
  for (ForwardPart& part : plan.late) part.update = {};
}

void drop_giving(IterationPlan& plan) {
  for (LaunchedWork* work : {&plan.h2d, &plan.forward, &plan.update})
    *work = work->launched_at_once();
  for (BackwardPart& part : plan.backward) part.compute = part.compute.launched_at_once();
  for (ForwardPart& part : plan.late) {
    part.update = part.update.launched_at_once();
    part.compute = part.compute.launched_at_once();
  }
}

/// All work of one iteration on the device and by the host.
LaunchedWork all_of(const IterationPlan& plan) {
  LaunchedWork all = plan.h2d.then(plan.forward).then(plan.update);
  for (const ForwardPart& part : plan.late) all = all.then(part.update).then(part.compute);
  for (const BackwardPart& part : plan.backward) all = all.then(part.compute);
  return all;
}

Seconds forward_of(const IterationPlan& plan) {
  Seconds sum = plan.forward.device;
  for (const ForwardPart& part : plan.late) sum += part.compute.device;
  return sum;
}

Seconds backward_of(const IterationPlan& plan) {
  Seconds sum;
  for (const BackwardPart& part : plan.backward) sum += part.compute.device;
  return sum;
}

Seconds update_of(const IterationPlan& plan) {
  Seconds sum = plan.update.device;
  for (const ForwardPart& part : plan.late) sum += part.update.device;
  return sum;
}

struct NamedPart {
  const char* name;
  Seconds busy;
  void (*drop)(IterationPlan& plan);
};

/// Rate of storage to a node while all nodes read.
std::optional<BytesPerSecond> read_of_node(const Machine& machine, const Run& run, Bytes stored) {
  const Placement placement{run.ranks, run.ranks_per_node};
  const Seconds batches = storage_time(machine, placement, run.batch, stored);
  if (batches <= Seconds()) return std::nullopt;
  return placement.ranks_on_node() * run.batch * stored / batches;
}

}  // namespace

std::vector<Change> changes_of(const Machine& machine, const Run& run) {
  return Changes(machine, run).find();
}

Explanation explain(const Network& network, const Machine& machine, const Run& run) {
  const int ranks[] = {run.ranks};
  Explanation result{predict(network, machine, run, ranks).front(), {}, {}, {}};
  Notes notes;
  const Network running = as_run(network, run);
  const IterationCosts costs = iteration_costs(running, machine, run, notes);
  result.parts = parts_of(costs.plan({}, Bound::value), result.prediction.time);
  result.inputs = sensitivities(network, machine, run);
  result.advice = all_advice(network, machine, run);
  return result;
}

std::vector<PartOfIteration> parts_of(const IterationPlan& plan, const IterationTime& time) {
  const NamedPart all[] = {
      {"input", std::max(plan.load, plan.storage), drop_input},
      {"host-to-device copy", plan.h2d.device, drop_copy},
      {"kernel launches", all_of(plan).host, drop_giving},
      {"forward", forward_of(plan), drop_forward},
      {"backward", backward_of(plan), drop_backward},
      {"communication", time.exposed_comm + time.hidden_comm, drop_communication},
      {"update", update_of(plan), drop_update},
  };
  std::vector<PartOfIteration> parts;
  for (const NamedPart& part : all) {
    if (part.busy <= Seconds()) continue;
    IterationPlan without = plan;
    part.drop(without);
    parts.push_back({part.name, part.busy, simulate_iteration(without).total});
  }
  return parts;
}

std::string input_sentence(const Network& network, const Machine& machine,
                           const Prediction& prediction) {
  const Run& run = prediction.run;
  const IterationTime& time = prediction.time;
  const Seconds computing = time.total - time.io;
  if (prediction.bound != "input" || time.io <= Seconds() || computing <= Seconds()) return "";
  const int ranks = Placement{run.ranks, run.ranks_per_node}.ranks_on_node();
  const Bytes stored = stored_size(machine, network);
  const SampleCost sample{stored, time.load / run.batch};
  const int threads = ranks * run.loader_threads;
  const int cores = machine.cluster.host.cores;
  const InputNode node{read_of_node(machine, run, stored), std::min(threads, cores)};
  const InputRate rate = input_rate(sample, node);
  const double wanted = ranks * run.batch / computing.si();
  if (rate.samples_per_s >= wanted) return "";
  const std::string taken = fmt::format(
      "of the {:.0f} images/s that the {} of a node would take; they compute {:.0f} % "
      "of the time",
      wanted, ranks == 1 ? "one device" : fmt::format("{} devices", ranks),
      100 * accelerator_utilisation(computing, time.io));
  if (rate.bound == InputStage::read) {
    return fmt::format("input: storage delivers {:.0f} {}. {} a node would be enough",
                       rate.samples_per_s, taken, to_text(required_read(wanted, sample.stored)));
  }
  const std::string_view who = threads > cores ? "cores" : "loader threads";
  const std::string decoded =
      fmt::format("input: {} {} decode {:.0f} {}", node.threads, who, rate.samples_per_s, taken);
  const bool computes_there = machine.cluster.device.kind == DeviceKind::cpu;
  if (computes_there && prediction.shares_cores) return decoded + ", on the same cores";
  return decoded + fmt::format(". {:.0f} for each rank would be enough",
                               std::ceil(wanted * sample.decode.si() / ranks));
}

}  // namespace dlscale::model
