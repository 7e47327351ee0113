#include "model/sgd_iter/messages/datasheet_links.hpp"

#include <algorithm>
#include <string_view>

#include "model/fits/piecewise.hpp"
#include "model/topology/link_laws.hpp"

namespace dlscale::model {
namespace {

/// The kind of configs/links that uses the host's kernel.
constexpr std::string_view tcp = "ethernet-tcp";
/// PCI Express 6.0 x16, before its line code: 64 GT/s a lane. Faster links are not PCI Express.
constexpr BytesPerSecond fastest_pcie = 128.0_GBps;

bool is_there(const LinkSpec& link) {
  return link.bandwidth > BytesPerSecond();
}

/// Whether the cluster does not name the kind and PCI Express may be as fast.
bool may_be_pcie_or_nvlink(const Cluster& cluster) {
  return !cluster.node && cluster.intra_node.bandwidth <= fastest_pcie;
}

void quicken(Cluster& cluster) {
  cluster.intra_node.latency = {};
  cluster.inter_node.latency = {};
  if (cluster.node) cluster.node->tree.latency = {};
  if (cluster.network) cluster.network->efficiency = 1;
}

Seconds slower_startup(Seconds stated, Seconds startup, double widening) {
  return stated + widening * std::max(Seconds(), startup - stated);
}

/// The remaining part of the bandwidth.
double part(const LinkShares& shares, double widening) {
  return 1 / (1 + widening * (1 / shares.efficiency - 1));
}

/// Slows down the host tree: PCI Express, or NVLink on POWER9, for which there are no trainings.
void slow_down(HostTree& tree, double widening) {
  const LinkShares shares = pcie_shares(tree.bandwidth);
  const double left = part(shares, widening);
  tree.latency = slower_startup(tree.latency, shares.startup, widening);
  tree.bandwidth = left * tree.bandwidth;
  tree.between_sockets = left * tree.between_sockets;
  for (TreePlace& place : tree.places) place.up = left * place.up;
}

void slow_down_within(Cluster& cluster, double widening) {
  const LinkShares shares = shares_within(cluster);
  const double left = part(shares, widening);
  LinkSpec& link = cluster.intra_node;
  link.latency = slower_startup(link.latency, shares.startup, widening);
  link.bandwidth = left * link.bandwidth;
  if (cluster.nccl) cluster.nccl->gpu_bandwidth = left * cluster.nccl->gpu_bandwidth;
}

/// Slows down the links between nodes; shares are of the nominal rate, payload or not.
void slow_down_between(Cluster& cluster, double widening) {
  const LinkShares shares = shares_between(cluster);
  double left = part(shares, widening);
  if (cluster.network) {
    left = std::min(left, cluster.network->efficiency);
    cluster.network->efficiency = 1;
  }
  LinkSpec& link = cluster.inter_node;
  link.latency = slower_startup(link.latency, shares.startup, widening);
  link.bandwidth = left * link.bandwidth;
  if (cluster.nccl) cluster.nccl->adapter_bandwidth = left * cluster.nccl->adapter_bandwidth;
}

/// Whether a ring over nodes also crosses the links within them.
bool passes_both(const Cluster& cluster) {
  return cluster.all_reduce == AllReduceRule::ring && cluster.devices_per_node > 1 &&
         is_there(cluster.intra_node) && is_there(cluster.inter_node);
}

void slow_down(Cluster& cluster, double widening) {
  if (is_there(cluster.intra_node)) slow_down_within(cluster, widening);
  if (is_there(cluster.inter_node)) slow_down_between(cluster, widening);
  if (passes_both(cluster)) {
    cluster.inter_node.bandwidth =
        one_after_the_other(cluster.inter_node.bandwidth, cluster.intra_node.bandwidth);
  }
  if (cluster.node && cluster.node->tree.bandwidth > BytesPerSecond()) {
    slow_down(cluster.node->tree, widening);
  }
}

}  // namespace

LinkShares shares_within(const Cluster& cluster) {
  const BytesPerSecond rate = cluster.intra_node.bandwidth;
  if (cluster.node) return cluster.node->nvlinks ? nvlink_shares() : pcie_shares(rate);
  if (!may_be_pcie_or_nvlink(cluster)) return nvlink_shares();
  return slower_of(pcie_shares(rate), nvlink_shares());
}

LinkShares shares_between(const Cluster& cluster) {
  const BytesPerSecond rate = cluster.inter_node.bandwidth;
  if (!cluster.network) return slower_of(tcp_shares(rate, 1), rdma_shares(rate, 1));
  const NetworkLinks& network = *cluster.network;
  return network.kind == tcp ? tcp_shares(rate, network.adapters)
                             : rdma_shares(rate, network.adapters);
}

std::vector<Note> untold_links(const Cluster& cluster, const Placement& placement) {
  std::vector<Note> untold;
  if (placement.nodes() > 1 && !cluster.network) {
    untold.push_back({NoteKind::network_kind_unknown, {cluster.name}});
  }
  if (placement.ranks_on_node() > 1 && may_be_pcie_or_nvlink(cluster)) {
    untold.push_back({NoteKind::device_links_unknown, {cluster.name}});
  }
  return untold;
}

DatasheetLinks datasheet_links(const Machine& machine) {
  DatasheetLinks links{machine.cluster, machine.cluster};
  quicken(links.quick);
  slow_down(links.slow, machine.fitted ? deviations_of_95 / deviations_of_90 : 1);
  return links;
}

}  // namespace dlscale::model
