#include "model/sgd_iter/scaling/cluster_facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "model/topology/datasheet_efficiency.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {
namespace {

using scaling::ClusterFabric;
using scaling::NodeFabric;
using scaling::TrainingFacts;

constexpr double f32_bytes = 4;
/// Year of a device whose sheet states none: that of most published trainings.
constexpr int usual_launch = 2018;

/// Whether the name of a link has one of these words, in small or capital letters.
bool is_named(const LinkSpec& link, std::initializer_list<std::string_view> words) {
  std::string name = link.name;
  for (char& letter : name)
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return std::ranges::any_of(
      words, [&](std::string_view word) { return name.find(word) != std::string::npos; });
}

/// Whether sockets carry messages between nodes: what the cluster states, else its link's name.
bool over_sockets(const Cluster& cluster) {
  if (cluster.network) return cluster.network->kind == tcp_kind;
  return is_named(cluster.inter_node, {"ethernet", "tcp"}) &&
         !is_named(cluster.inter_node, {"roce"});
}

/// Whether the cluster states a mesh of direct links between devices.
bool states_mesh(const Cluster& cluster) {
  return cluster.node && cluster.node->nvlinks && cluster.node->nvlinks->switch_links == 0;
}

/// Links to others of the first `devices` of the one with the fewest; 0 unless they lead from each
/// device to every other, as from the fifth of a DGX-1 through its neighbours.
int links_through_others(const Nvlinks& mesh, int devices) {
  const auto links_of = [&](int device) {
    int links = 0;
    for (int other = 0; other < devices; ++other) {
      if (other != device) links += mesh.links_between(device, other);
    }
    return links;
  };
  std::vector<int> reached{0};
  for (std::size_t next = 0; next < reached.size(); ++next) {
    for (int other = 0; other < devices; ++other) {
      const bool met = std::ranges::find(reached, other) != reached.end();
      if (!met && mesh.links_between(reached[next], other) > 0) reached.push_back(other);
    }
  }
  if (static_cast<int>(reached.size()) < devices) return 0;
  int least = links_of(0);
  for (int device = 1; device < devices; ++device) least = std::min(least, links_of(device));
  return least;
}

/// Rings over the first `devices` of a stated mesh, directly or through others; 0: by the host.
/// NCCL before 2.4 is taken not to lead through others.
int mesh_rings(const Cluster& cluster, int devices, const TrainingFacts& facts) {
  const NodeRing ring = ring_over(*cluster.node, devices);
  if (!ring.over_tree) return ring.rings;
  return facts.framework.rings_only ? 0 : links_through_others(*cluster.node->nvlinks, devices);
}

/// Whether the links to a processor are like those between devices, as on POWER9.
bool host_is_as_near(const Cluster& cluster) {
  return is_named(cluster.host_device, {"nvlink", "infinity fabric"});
}

/// The links of the first `devices` of a node. The rings of a stated mesh carry their rate between
/// all devices that they pass, as switches would.
NodeFabric fabric_of(const Cluster& cluster, int devices, const TrainingFacts& facts) {
  if (states_mesh(cluster)) {
    const bool by_host = devices > 1 && mesh_rings(cluster, devices, facts) == 0;
    return by_host && !host_is_as_near(cluster) ? NodeFabric::pcie : NodeFabric::switched;
  }
  if (cluster.node) return cluster.node->nvlinks ? NodeFabric::switched : NodeFabric::pcie;
  const bool joined = is_named(cluster.intra_node, {"nvlink", "nvswitch", "infinity fabric"}) ||
                      cluster.intra_node.bandwidth > fastest_pcie;
  return joined ? NodeFabric::switched : NodeFabric::pcie;
}

/// Rate of the links of a device to others of its node: over a mesh that of all rings that pass
/// the devices, or of one where the framework knows only one.
BytesPerSecond node_rate(const Cluster& cluster, const Placement& placement,
                         const TrainingFacts& facts) {
  if (facts.node_fabric == NodeFabric::pcie && cluster.node &&
      cluster.node->tree.bandwidth > BytesPerSecond()) {
    return cluster.node->tree.bandwidth;
  }
  if (states_mesh(cluster) && placement.ranks_on_node() > 1) {
    const int devices = std::min(placement.ranks_on_node(), cluster.devices_per_node);
    const int rings = mesh_rings(cluster, devices, facts);
    const BytesPerSecond all = ring_over(*cluster.node, devices).over_tree && rings > 0
                                   ? rings * cluster.node->nvlinks->link_bandwidth()
                                   : 1 / link_within(cluster, placement).beta;
    return facts.framework.one_ring ? all / std::max(rings, 1) : all;
  }
  const BytesPerSecond stated = cluster.intra_node.bandwidth;
  return stated > BytesPerSecond() ? stated : cluster.host_device.bandwidth;
}

int cards_of(const Cluster& cluster) {
  if (cluster.network) return cluster.network->adapters;
  return cluster.nccl ? cluster.nccl->adapters : 1;
}

scaling::Layout layout_of(const Placement& placement) {
  scaling::Layout layout;
  layout.gpus = placement.ranks;
  layout.nodes = placement.nodes();
  layout.gpus_on_node = placement.ranks_on_node();
  return layout;
}

/// Whether the cluster does not name the kind, and PCI Express may be as fast.
bool may_be_pcie_or_nvlink(const Cluster& cluster) {
  return !cluster.node && cluster.intra_node.bandwidth <= fastest_pcie &&
         !is_named(cluster.intra_node, {"pci", "nvlink", "nvswitch"});
}

/// Whether the cluster names neither TCP nor a network with RDMA.
bool may_be_tcp_or_rdma(const Cluster& cluster) {
  return !cluster.network &&
         !is_named(cluster.inter_node, {"ethernet", "tcp", "roce", "rdma", "infiniband",
                                        "omni-path", "slingshot", "aries", "efa"});
}

void guess_links(const Cluster& cluster, const Placement& placement, TrainingFacts& facts) {
  if (placement.nodes() > 1 && may_be_tcp_or_rdma(cluster)) {
    facts.guesses.push_back(
        fmt::format("cluster {} does not say whether TCP or RDMA carries messages between nodes "
                    "(network.kind): taken as RDMA",
                    cluster.name));
  }
  if (placement.ranks_on_node() > 1 && may_be_pcie_or_nvlink(cluster)) {
    facts.guesses.push_back(
        fmt::format("cluster {} does not say whether PCI Express or NVLinks join devices (node): "
                    "taken as PCI Express",
                    cluster.name));
  }
}

void add_links(const Cluster& cluster, const Placement& placement, TrainingFacts& facts) {
  guess_links(cluster, placement, facts);
  if (placement.ranks_on_node() > 1) nominal_link(cluster, cluster.intra_node, 1);  // or throws
  const int devices = std::min(placement.ranks_on_node(), cluster.devices_per_node);
  facts.node_fabric = fabric_of(cluster, devices, facts);
  facts.node_bandwidth = node_rate(cluster, placement, facts);
  if (placement.nodes() == 1) return;
  nominal_link(cluster, cluster.inter_node, 1);
  facts.cluster_fabric = over_sockets(cluster) ? ClusterFabric::tcp : ClusterFabric::rdma;
  facts.cluster_bandwidth = cluster.inter_node.bandwidth;
  if (cluster.network) {
    facts.cluster_bandwidth = taper(*cluster.network, placement.nodes()) * facts.cluster_bandwidth;
  }
  facts.cards = cards_of(cluster);
}

/// PyTorch's buckets by NCCL, where nothing is said of the framework.
scaling::FrameworkTraits usual_framework() {
  scaling::FrameworkTraits traits;
  traits.first_bucket = first_bucket_limit;
  traits.bucket = bucket_limit;
  return traits;
}

}  // namespace

TrainingFacts cluster_facts(const Machine& machine, const Placement& placement) {
  const Cluster& cluster = machine.cluster;
  TrainingFacts facts;
  constexpr Bytes gradient(1e9);
  facts.gradient = gradient;
  facts.parameters = gradient.si() / f32_bytes;
  facts.profile.tensors = {{facts.parameters, 1}};
  facts.asked = layout_of(placement);
  facts.given_iteration = Seconds(1);
  facts.given_batch = facts.batch = 1;
  facts.framework = machine.exchange_traits.value_or(usual_framework());
  add_links(cluster, placement, facts);
  facts.memory_bandwidth = cluster.device.memory_bandwidth;
  facts.launched = cluster.device.launched > 0 ? cluster.device.launched : usual_launch;
  facts.overlap = cases::Overlap::bucketed;
  if (cluster.device.kind == DeviceKind::cpu) {
    facts.guesses.emplace_back("the published trainings are of GPUs, not of processors");
  }
  return facts;
}

TrainingFacts run_facts(const Machine& machine, const Run& run, double parameters,
                        bool over_sequences, Seconds alone) {
  TrainingFacts facts = cluster_facts(machine, {run.ranks, run.ranks_per_node});
  facts.parameters = parameters;
  facts.gradient = Bytes(f32_bytes * parameters);
  facts.profile.tensors = {{parameters, 1}};
  facts.given_iteration = alone;
  facts.given_batch = facts.batch = run.batch;
  facts.half_precision = element_bytes(run.dtype) == 2;
  facts.synthetic_input = over_sequences;  // tokens need no decoding
  return facts;
}

}  // namespace dlscale::model
