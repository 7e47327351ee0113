#include "model/topology/sheet_links.hpp"

#include <algorithm>
#include <string_view>

#include "model/piecewise.hpp"

namespace dlscale::model {
namespace {

/// The kind of configs/links that the kernel of the host carries.
constexpr std::string_view tcp = "ethernet-tcp";

void quicken(Cluster& cluster) {
  cluster.intra_node.latency = {};
  cluster.inter_node.latency = {};
  if (cluster.node) cluster.node->tree.latency = {};
}

Seconds slower(Seconds stated, Seconds startup, double widening) {
  return stated + widening * std::max(Seconds(), startup - stated);
}

/// The part of the bandwidth that is left.
double part(const LinkShares& shares, double widening) {
  return 1 / (1 + widening * (1 / shares.efficiency - 1));
}

void slow_down(Cluster& cluster, double widening) {
  const LinkShares within = shares_within(cluster);
  const LinkShares between = shares_between(cluster);
  const double inside = part(within, widening);
  const double outside = part(between, widening);
  LinkSpec& intra = cluster.intra_node;
  LinkSpec& inter = cluster.inter_node;
  intra.latency = slower(intra.latency, within.startup, widening);
  inter.latency = slower(inter.latency, between.startup, widening);
  intra.bandwidth = inside * intra.bandwidth;
  inter.bandwidth = outside * inter.bandwidth;
  if (cluster.node) {
    HostTree& tree = cluster.node->tree;
    tree.latency = slower(tree.latency, within.startup, widening);
    tree.bandwidth = inside * tree.bandwidth;
    tree.between_sockets = inside * tree.between_sockets;
    for (TreePlace& place : tree.places) place.up = inside * place.up;
  }
  if (cluster.nccl) {
    cluster.nccl->gpu_bandwidth = inside * cluster.nccl->gpu_bandwidth;
    cluster.nccl->adapter_bandwidth = outside * cluster.nccl->adapter_bandwidth;
  }
}

}  // namespace

LinkShares shares_within(const Cluster& cluster) {
  return cluster.node && cluster.node->nvlinks ? nvlink_shares : pcie_shares;
}

LinkShares shares_between(const Cluster& cluster) {
  if (!cluster.network) {
    return {std::min(tcp_shares.efficiency, rdma_shares.efficiency),
            std::max(tcp_shares.startup, rdma_shares.startup)};
  }
  return cluster.network->kind == tcp ? tcp_shares : rdma_shares;
}

SheetLinks sheet_links(const Machine& machine) {
  SheetLinks links{machine.cluster, machine.cluster};
  quicken(links.quick);
  slow_down(links.slow, machine.fitted ? deviations_of_95 / deviations_of_90 : 1);
  return links;
}

}  // namespace dlscale::model
