#include "model/sgd_iter/scaling/sheet_exchange.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/error.hpp"
#include "model/published/scaling/predictor.hpp"
#include "model/published/scaling/time/exchange_cost.hpp"
#include "model/published/scaling/time/scaled_time.hpp"
#include "model/sgd_iter/scaling/cluster_facts.hpp"

namespace dlscale::model {
namespace {

using scaling::Parameter;
using scaling::Parameters;
using scaling::TrainingFacts;

const scaling::ScalingFile& nominal_file() {
  static const scaling::ScalingFile file = scaling::load_scaling(scaling::usual_scaling);
  return file;
}

constexpr Bytes f32_gradient(4);

/// The fitted constants, with longer start-ups where the cluster states them, and a smaller part of
/// the line between nodes. Between processors no kernel of a GPU starts, so that stated start-ups
/// replace the fitted ones.
Parameters parameters_for(const Cluster& cluster) {
  Parameters parameters = nominal_scaling().parameters;
  const bool of_gpus = cluster.device.kind == DeviceKind::gpu;
  const auto take = [&](Parameter which, Seconds stated) {
    double& value = parameters.values.at(static_cast<std::size_t>(which));
    value = of_gpus || stated <= Seconds() ? std::max(value, stated.si()) : stated.si();
  };
  take(Parameter::local_latency, cluster.intra_node.latency);
  take(Parameter::rdma_latency, cluster.inter_node.latency);
  take(Parameter::tcp_latency, cluster.inter_node.latency);
  if (cluster.network) {
    double& line = parameters.values.at(static_cast<std::size_t>(Parameter::line_efficiency));
    line = std::min(line, cluster.network->efficiency);
  }
  return parameters;
}

}  // namespace

const scaling::Fit& nominal_scaling() {
  return nominal_file().fitted.all;
}

std::size_t nominal_scaling_trainings() {
  std::size_t trainings = 0;
  for (const auto& [set, count] : nominal_file().sets) trainings += count;
  return trainings;
}

SheetMessages sheet_messages(const Machine& machine, const Placement& placement) {
  EXPECT(placement.ranks >= 2);
  const TrainingFacts facts = cluster_facts(machine, placement);
  const scaling::ExchangeCost cost =
      scaling::exchange_cost(facts, facts.asked, parameters_for(machine.cluster));
  const scaling::MessageCost& messages = cost.messages;
  const bool on_device = cost.on_gpu && machine.cluster.device.kind == DeviceKind::gpu;
  return {messages.startup, messages.transfer / facts.gradient, messages.agreement, on_device};
}

SheetLink sheet_link_within(const Machine& machine, const Placement& placement) {
  const Placement one_node{placement.ranks_on_node(), placement.ranks_per_node};
  const TrainingFacts facts = cluster_facts(machine, one_node);
  const Parameters parameters = parameters_for(machine.cluster);
  return {Seconds(parameters[Parameter::local_latency]),
          1 / scaling::within_node(facts, facts.asked, parameters)};
}

SheetLink sheet_link_between(const Machine& machine, const Placement& placement) {
  const TrainingFacts facts = cluster_facts(machine, placement);
  const Parameters parameters = parameters_for(machine.cluster);
  const Parameter latency =
      scaling::over_tcp(facts) ? Parameter::tcp_latency : Parameter::rdma_latency;
  return {Seconds(parameters[latency]), 1 / scaling::between_nodes(facts, parameters)};
}

SheetDelays sheet_delays(const Machine& machine, const Placement& placement,
                         const Network& network) {
  return sheet_delays(machine, placement, network,
                      static_cast<double>(network.parameter_count()) * f32_gradient);
}

SheetDelays sheet_delays(const Machine& machine, const Placement& placement, const Network& network,
                         Bytes gradients) {
  if (placement.ranks == 1 || gradients == Bytes()) return {};
  TrainingFacts facts = cluster_facts(machine, placement);
  facts.uneven_samples = has_uneven_samples(network);
  const Parameters& p = nominal_scaling().parameters;
  SheetDelays delays;
  delays.waiting = scaling::waiting_share(facts, placement.ranks, p);
  delays.meeting = p[Parameter::copy_passes] * gradients / facts.memory_bandwidth +
                   Seconds(p[Parameter::jitter_of_nodes] * std::log2(placement.nodes()));
  if (sheet_messages(machine, placement).on_device) {
    delays.interference = p[Parameter::interference];
  }
  return delays;
}

SheetServers sheet_servers(const Machine& machine, const Run& run, const Network& network) {
  EXPECT(exchanges_by_servers(machine, run));
  const TrainingFacts facts = run_facts(machine, run, network, Seconds(1));
  const Parameters p = parameters_for(machine.cluster);
  SheetServers servers;
  servers.transfer = scaling::exchange_cost(facts, facts.asked, p).messages.transfer;
  servers.last = servers.transfer / static_cast<double>(facts.profile.tensors.size());
  servers.running = run.schedule != Schedule::sequential && !facts.framework.eager;
  if (servers.running && machine.cluster.device.kind == DeviceKind::gpu) {
    servers.interference = p[Parameter::interference];
  }
  return servers;
}

TimeFactors scaling_factors(const TrainingFacts& facts) {
  const scaling::Fit& fit = nominal_scaling();
  const scaling::ScaledTime time = scaling::ScalingModel(facts).judged(fit.parameters);
  TrainingFacts as_run = facts;
  if (facts.overlap == cases::Overlap::unknown) as_run.overlap = cases::Overlap::bucketed;
  const Seconds total = scaling::ScalingModel(as_run).time(fit.parameters).total;
  scaling::IntervalTime found = scaling::with_interval(time, facts, fit.errors);
  if (!scaling::outside(facts, fit.domain).empty()) found = scaling::stretched(found);
  return {std::min(found.low / total, 1.0), std::max(found.high / total, 1.0)};
}

}  // namespace dlscale::model
