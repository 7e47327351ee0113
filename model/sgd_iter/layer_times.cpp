#include "model/sgd_iter/layer_times.hpp"

#include <algorithm>

#include "core/network/relu_fusion.hpp"
#include "core/network/step.hpp"
#include "model/sgd_iter/costs/costs.hpp"
#include "model/sgd_iter/kernels/kernel_time.hpp"
#include "model/sgd_iter/kernels/memory.hpp"
#include "model/sgd_iter/messages/exchange_costs.hpp"

namespace dlscale::model {
namespace {

void add_steps(LayerTimes& times, const Network& network, const KernelTimes& kernels) {
  for (const Step step : forward_steps(network)) {
    LayerTime& layer = times.layers[step.layer.index()];
    layer.forward += kernels.time(step).value;
    layer.forward_source = less_sure(layer.forward_source, kernels.source(step));
  }
  for (const Step step : backward_steps(network)) {
    LayerTime& layer = times.layers[step.layer.index()];
    layer.backward += kernels.time(step).value;
    layer.backward_source = less_sure(layer.backward_source, kernels.source(step));
  }
}

void add_messages(LayerTimes& times, const ExchangeCosts& exchange) {
  for (const Bucket& bucket : exchange.messages()) {
    const MessageCost cost = exchange.cost(bucket);
    for (const LayerId id : bucket.layers) {
      LayerTime& layer = times.layers[id.index()];
      layer.communication = layer.gradient / cost.size * cost.total().value;
      layer.communication_source = exchange.source(bucket);
    }
  }
}

/// Scales layers as measured points say. A wait that lengthens the iteration is in no layer.
void scale_layers(LayerTimes& times, const MeasuredLevel::Factors& factors) {
  const double all = times.run.ranks > 1 ? std::min(factors.left, 1.0) : factors.left;
  for (LayerTime& layer : times.layers) {
    layer.forward = all * factors.computing * layer.forward;
    layer.backward = all * factors.computing * layer.backward;
    layer.communication = all * factors.added * layer.communication;
  }
}

}  // namespace

LayerTimes layer_times(const Network& read, const Machine& machine, const Run& run) {
  check(run);
  const Network network = as_run(read, run);
  check_device(machine.cluster, run);
  Notes notes;
  check_memory(network, machine.cluster, run, notes,
               memory_traits(network, run.dtype, machine.software));
  const Placement place{run.ranks, run.ranks_per_node};
  LayerTimes times;
  times.run = run;
  for (const Layer& layer : network.layers()) {
    times.layers.push_back({.layer = layer.id,
                            .forward = {},
                            .backward = {},
                            .communication = {},
                            .gradient = message_size({{layer.id}, layer.parameter_count()}),
                            .forward_source = {},
                            .backward_source = {},
                            .communication_source = {}});
  }
  const KernelTimes kernels(network, machine, run, place.ranks_on_node(), notes);
  add_steps(times, network, kernels);
  if (run.ranks > 1) add_messages(times, ExchangeCosts(network, machine, run, kernels, notes));
  if (machine.level) scale_layers(times, machine.level->at(run.ranks));
  times.notes = notes.all();
  return times;
}

}  // namespace dlscale::model
