#include "model/sgd_iter/layer_times.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "core/fuse.hpp"
#include "core/step.hpp"
#include "model/sgd_iter/costs.hpp"
#include "model/sgd_iter/exchange_costs.hpp"
#include "model/sgd_iter/kernel_time.hpp"
#include "model/sgd_iter/memory.hpp"
#include "model/sgd_iter/message_plan.hpp"

namespace dlscale::model {
namespace {

/// The less sure of what is known and one more.
void join(std::optional<TimeSource>& known, TimeSource more) {
  known = known ? std::max(*known, more) : more;
}

void add_steps(LayerTimes& times, const Network& network, const KernelTimes& kernels) {
  for (const Step step : forward_steps(network)) {
    LayerTime& layer = times.layers[step.layer.index()];
    layer.forward += kernels.time(step).value;
    join(layer.forward_source, kernels.source(step));
  }
  for (const Step step : backward_steps(network)) {
    LayerTime& layer = times.layers[step.layer.index()];
    layer.backward += kernels.time(step).value;
    join(layer.backward_source, kernels.source(step));
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

}  // namespace

std::string_view time_source_name(TimeSource source) {
  switch (source) {
    case TimeSource::measured:
      return "measured";
    case TimeSource::fitted:
      return "fitted";
    case TimeSource::other_ranks:
      return "other ranks";
    case TimeSource::interpolated:
      return "interpolated";
    case TimeSource::extrapolated:
      return "extrapolated";
    case TimeSource::unfused:
      return "unfused";
    case TimeSource::efficiency:
      return "efficiency";
    case TimeSource::data_sheet:
      return "data sheet";
  }
  fail_expectation("source is a TimeSource");
}

LayerTimes layer_times(const Network& read, const Machine& machine, const Run& run) {
  check(run);
  const Network network = as_run(read, run);
  check_device(machine.cluster, run);
  Notes notes;
  check_memory(network, machine.cluster, run, notes);
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
  times.notes = notes.text();
  return times;
}

}  // namespace dlscale::model
