#include "model/parallel/stages/layer_costs.hpp"

#include "core/network/step.hpp"

namespace dlscale::model {

InputCosts input_costs(const Network& network, const Machine& machine, Run run, Notes& notes) {
  run.ranks = 1;
  const IterationCosts costs = iteration_costs(network, machine, run, notes);
  const bool on_path = run.input_copy == InputCopy::on_path;
  return {costs.load, on_path ? costs.h2d.compute : Estimate<Seconds>{}};
}

LayerCosts layer_costs(const Network& network, const KernelTimes& kernels, const InputCosts& input,
                       Bound bound) {
  LayerCosts costs;
  costs.load = end_of(input.load, bound);
  costs.copy = end_of(input.copy, bound);
  costs.forward.resize(network.layers().size());
  costs.backward.resize(network.layers().size());
  for (const Step step : forward_steps(network)) {
    costs.forward[step.layer.index()] += end_of(kernels.time(step), bound);
  }
  costs.steps.steps = backward_steps(network);
  for (const Step step : costs.steps.steps) {
    costs.steps.times.push_back(end_of(kernels.time(step), bound));
    costs.backward[step.layer.index()] += costs.steps.times.back();
  }
  return costs;
}

}  // namespace dlscale::model
