#include "model/what_if/explain.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "core/base/error.hpp"
#include "core/network/fuse.hpp"
#include "model/sgd_iter/costs/costs.hpp"
#include "model/sgd_iter/graph/closed_form.hpp"
#include "model/sgd_iter/graph/iteration.hpp"
#include "model/topology/topology.hpp"
#include "model/what_if/advice.hpp"
#include "model/what_if/faster.hpp"
#include "model/what_if/parts.hpp"

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
      return iteration_of(network, faster(machine, input.what, factor), run);
    };
    result.push_back({input.name, with(sensitivity_step), with(1 / sensitivity_step)});
  }
  std::ranges::stable_sort(result, {}, [](const Sensitivity& one) { return one.better; });
  return result;
}

Advice predicted(const Network& network, Machine machine, const Change& change) {
  Advice advice{change.option, {}, 0, {}};
  machine.all_reduce_asked = change.all_reduce_asked;
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

}  // namespace dlscale::model
