#include "model/what_if/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "core/base/error.hpp"
#include "core/network/relu_fusion.hpp"
#include "core/text/quantity_text.hpp"
#include "model/machine/machine.hpp"
#include "model/sgd_iter/costs/costs.hpp"
#include "model/sgd_iter/costs/input_pipeline.hpp"
#include "model/sgd_iter/costs/storage_time.hpp"
#include "model/sgd_iter/graph/closed_form.hpp"
#include "model/sgd_iter/graph/iteration.hpp"
#include "model/sgd_iter/predict.hpp"
#include "model/topology/topology.hpp"
#include "model/what_if/advice.hpp"
#include "model/what_if/scaled_machine.hpp"

namespace dlscale::model {
namespace {

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
  machine.all_reduce_override = change.all_reduce_override;
  machine.cluster.all_reduce = change.all_reduce;
  try {
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

/// Sets messages, with their meetings, choices and votes, to no time.
void drop_communication(IterationPlan& plan) {
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
std::optional<BytesPerSecond> read_of_node(const Machine& machine, const Run& run) {
  const Placement placement{run.ranks, run.ranks_per_node};
  const Seconds batches = storage_time(machine, placement, run.batch);
  if (batches <= Seconds()) return std::nullopt;
  return placement.ranks_on_node() * run.batch * picture_size / batches;
}

}  // namespace

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

std::string input_sentence(const Machine& machine, const Prediction& prediction) {
  const Run& run = prediction.run;
  const IterationTime& time = prediction.time;
  const Seconds computing = time.total - time.io;
  if (prediction.bound != "input" || time.io <= Seconds() || computing <= Seconds()) return "";
  const int ranks = Placement{run.ranks, run.ranks_per_node}.ranks_on_node();
  const SampleCost sample{picture_size, time.load / run.batch};
  const int threads = ranks * run.loader_threads;
  const int cores = machine.cluster.host.cores;
  const InputNode node{read_of_node(machine, run), std::min(threads, cores)};
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
