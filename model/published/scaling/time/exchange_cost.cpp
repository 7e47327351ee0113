#include "model/published/scaling/time/exchange_cost.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/error.hpp"
#include "model/topology/datasheet_efficiency.hpp"

namespace dlscale::model::scaling {
namespace {

constexpr double mpi_share = 0.5;  // OSU's all-reduce on 10 Gb Ethernet, relative to GPUs

/// The nominal rate of PCIe, with which a node's paths over the host scale.
BytesPerSecond pcie_rate(const TrainingFacts& facts, const Parameters& p) {
  if (facts.node_fabric != NodeFabric::pcie) return pcie3_x16;
  return grown_pcie(facts.node_bandwidth, p[Parameter::pcie_growth]);
}

double mesh_share(const TrainingFacts& facts, int gpus) {
  if (facts.framework.one_ring) return 1.0 / facts.node_links;
  if (gpus <= 2) return 1.0 / 3;
  return gpus <= 4 ? 2.0 / 3 : 1.0;
}

}  // namespace

BytesPerSecond within_node(const TrainingFacts& facts, const Layout& layout, const Parameters& p) {
  switch (facts.node_fabric) {
    case NodeFabric::pcie:
      return p[Parameter::pcie_efficiency] * pcie_rate(facts, p);
    case NodeFabric::mesh:
      return p[Parameter::nvlink_efficiency] * mesh_share(facts, layout.gpus_on_node) *
             facts.node_bandwidth;
    case NodeFabric::switched:
      return p[Parameter::nvlink_efficiency] * facts.node_bandwidth;
  }
  fail_expectation("a fabric of the enumeration");
}

namespace {

/// The bandwidth of a node whose cards nothing else limits.
BytesPerSecond by_rdma(const TrainingFacts& facts, const Parameters& p) {
  return through_cards(facts.cluster_bandwidth, facts.cards, p[Parameter::line_efficiency],
                       p[Parameter::card_efficiency]);
}

BytesPerSecond by_sockets(BytesPerSecond cards, const Parameters& p) {
  return one_after_the_other(cards, BytesPerSecond(p[Parameter::socket_rate]));
}

}  // namespace

BytesPerSecond between_nodes(const TrainingFacts& facts, const Parameters& p) {
  const BytesPerSecond cards = by_rdma(facts, p);
  const BytesPerSecond sockets = by_sockets(cards, p);
  if (over_tcp(facts)) return sockets;
  return may_use_sockets(facts) ? 2.0 / (1.0 / cards + 1.0 / sockets) : cards;
}

namespace {

/// 2 (n-1)/n: bytes that each of n parts sends and receives, for each byte.
double around(int n) {
  return 2.0 * (n - 1) / n;
}

/// The factor i. The even case is separate, so that rounding does not change it.
double busier(const Layout& layout) {
  const int n = layout.nodes;
  if (layout.busiest_server == 1) return 1;
  const double kept = layout.busiest_server / n;
  return ((n - 1) * kept + 1 - kept) / around(n);
}

/// The bytes of the largest tensor.
Bytes largest(const TrainingFacts& facts) {
  double elements = 0;
  for (const GradientTensor& tensor : facts.profile.tensors) {
    elements = std::max(elements, tensor.elements);
  }
  return elements * (facts.gradient / facts.parameters);
}

/// The time of adding a node's gradients and of distributing what comes back.
Seconds within_servers_node(const TrainingFacts& facts, const Layout& layout, const Parameters& p) {
  const int k = layout.gpus_on_node;
  const double efficiency = p[Parameter::server_efficiency];
  switch (facts.framework.node_sum) {
    case NodeSum::ring:
      return around(k) * facts.gradient / within_node(facts, layout, p);
    case NodeSum::star: {
      const Bytes on_one = std::max(largest(facts), facts.gradient / k);
      return 2.0 * (k - 1) * on_one / (efficiency * to_host(facts, p));
    }
    case NodeSum::host:
      return 2.0 * facts.gradient / (efficiency * pcie_rate(facts, p));
  }
  fail_expectation("a sum of the enumeration");
}

Seconds over_servers(const TrainingFacts& facts, const Layout& layout, const Parameters& p) {
  const Seconds local = within_servers_node(facts, layout, p);
  if (layout.nodes == 1) return local;
  const BytesPerSecond rate = p[Parameter::server_efficiency] * between_nodes(facts, p);
  const int sums = facts.framework.each_calls ? layout.gpus_on_node : 1;
  return local + sums * busier(layout) * facts.gradient / rate;
}

Seconds over_links(const TrainingFacts& facts, const Layout& layout, const Parameters& p) {
  const Bytes sent = around(layout.gpus) * facts.gradient;
  const Seconds local = sent / within_node(facts, layout, p);
  if (layout.nodes == 1) return local;
  const double ratio = local / (sent / between_nodes(facts, p));
  return std::cbrt(1 + ratio * ratio * ratio) * (sent / between_nodes(facts, p));
}

Seconds over_hosts(const TrainingFacts& facts, const Layout& layout, const Parameters& p) {
  const Seconds in_node =
      around(layout.gpus_on_node) * facts.gradient / within_node(facts, layout, p);
  return in_node + around(layout.nodes) * facts.gradient / (mpi_share * between_nodes(facts, p)) +
         2 * facts.gradient / to_host(facts, p);
}

/// The time that bytes take longer by sockets than by RDMA, if either may carry them.
Seconds transport_doubt(const TrainingFacts& facts, const Layout& layout, const Parameters& p) {
  if (layout.nodes == 1 || !may_use_sockets(facts)) return Seconds();
  const BytesPerSecond rdma = by_rdma(facts, p);
  const Bytes sent = around(layout.gpus) * facts.gradient;
  return sent / by_sockets(rdma, p) - sent / rdma;
}

Seconds startup(const TrainingFacts& facts, const Layout& layout, const Parameters& p) {
  const Seconds local = Seconds(p[Parameter::local_latency]);
  const Seconds remote =
      Seconds(p[over_tcp(facts) ? Parameter::tcp_latency : Parameter::rdma_latency]);
  const int crossings = layout.nodes > 1 ? layout.nodes : 0;
  const Seconds ring = 2.0 * (crossings * remote + (layout.gpus - crossings) * local);
  if (facts.framework.rings_only) return ring;
  const Seconds tree =
      4 * std::log2(layout.nodes) * remote + 4.0 * (layout.gpus_on_node - 1) * local;
  return std::min(ring, tree);
}

}  // namespace

MessageSchedule::MessageSchedule(std::span<const ScalingMessage> messages) {
  EXPECT(!messages.empty());
  Bytes total;
  for (const ScalingMessage& message : messages) {
    EXPECT(message.size > Bytes() && message.ready >= 0 && message.ready <= 1);
    total += message.size;
  }
  double rest = 1;
  double latest = -1;
  for (const ScalingMessage& message : messages) {
    const double share = message.size / total;
    const auto count = static_cast<double>(messages.size() - messages_.size());
    // A message that is ready no later than an earlier one is never the last to wait.
    if (message.ready > latest) corners_.push_back({message.ready, rest, count});
    latest = std::max(latest, message.ready);
    messages_.push_back({message.ready, share});
    rest -= share;
  }
}

double MessageSchedule::finish_without_agreement(double backward, const MessageCost& cost) const {
  const double startup = cost.startup.si();
  const double transfer = cost.transfer.si();
  double finish = 0;
  for (const Corner& corner : corners_) {
    const double path = corner.ready * backward + corner.count * startup + corner.share * transfer;
    finish = std::max(finish, path);
  }
  return finish;
}

ExposedMessages MessageSchedule::beside(Seconds backward, const MessageCost& cost) const {
  const double t_b = backward.si();
  const double startup = cost.startup.si();
  const double transfer = cost.transfer.si();
  const double agreement = cost.agreement.si();
  if (agreement == 0) {
    const double finish = finish_without_agreement(t_b, cost);
    const double all = transfer + static_cast<double>(size()) * startup;
    return {Seconds(std::max(finish - t_b, 0.0)), Seconds(all)};
  }
  double agreed = 0;
  double finish = 0;
  double agreed_at_once = 0;
  double all = 0;
  for (const Message& message : messages_) {
    const double on_link = startup + message.share * transfer;
    agreed = std::max(agreed, message.ready * t_b) + agreement;
    finish = std::max(finish, agreed) + on_link;
    agreed_at_once += agreement;
    all = std::max(all, agreed_at_once) + on_link;
  }
  return {Seconds(std::max(finish - t_b, 0.0)), Seconds(all)};
}

bool over_tcp(const TrainingFacts& facts) {
  return facts.cluster_fabric == ClusterFabric::tcp || facts.framework.over_sockets;
}

bool may_use_sockets(const TrainingFacts& facts) {
  return facts.framework.transport_unknown && !over_tcp(facts);
}

BytesPerSecond to_host(const TrainingFacts& facts, const Parameters& parameters) {
  return parameters[Parameter::pcie_efficiency] * pcie_rate(facts, parameters);
}

ExchangeCost exchange_cost(const TrainingFacts& facts, const Layout& layout,
                           const Parameters& parameters) {
  EXPECT(layout.gpus >= 2 && layout.nodes >= 1 && layout.gpus_on_node >= 1);
  ExchangeCost cost;
  cost.in_doubt = transport_doubt(facts, layout, parameters);
  if (facts.synchronisation != cases::Synchronisation::all_reduce) {
    cost.messages.transfer = over_servers(facts, layout, parameters);
    cost.on_gpu = false;
    return cost;
  }
  cost.on_gpu = !(facts.framework.over_host && layout.nodes > 1);
  cost.messages.transfer =
      cost.on_gpu ? over_links(facts, layout, parameters) : over_hosts(facts, layout, parameters);
  cost.messages.startup = startup(facts, layout, parameters);
  if (facts.framework.coordinator) {
    cost.messages.agreement = Seconds(parameters[Parameter::negotiation]);
  }
  return cost;
}

}  // namespace dlscale::model::scaling
