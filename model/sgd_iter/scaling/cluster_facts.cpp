#include "model/sgd_iter/scaling/cluster_facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <string>
#include <string_view>

#include "core/base/error.hpp"
#include "model/topology/datasheet_efficiency.hpp"

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

/// Whether no ring of NVLinks passes the first `devices` of a mesh, as with five of a DGX-1.
bool lacks_rings(const Nvlinks& mesh, int devices) {
  const auto count = static_cast<std::size_t>(devices);
  return devices > 1 && count < mesh.rings.size() && mesh.rings[count] == 0;
}

/// The links of the first `devices` of a node.
NodeFabric fabric_of(const Cluster& cluster, int devices) {
  if (cluster.node) {
    const auto& nvlinks = cluster.node->nvlinks;
    if (!nvlinks) return NodeFabric::pcie;
    if (nvlinks->switch_links > 0) return NodeFabric::switched;
    const bool slower = cluster.node->tree.bandwidth < cluster.intra_node.bandwidth;  // not POWER9
    return slower && lacks_rings(*nvlinks, devices) ? NodeFabric::pcie : NodeFabric::mesh;
  }
  const bool joined = is_named(cluster.intra_node, {"nvlink", "nvswitch"}) ||
                      cluster.intra_node.bandwidth > fastest_pcie;
  return joined ? NodeFabric::switched : NodeFabric::pcie;
}

/// Rate of the links of a device to others of its node.
BytesPerSecond node_rate(const Cluster& cluster, NodeFabric fabric) {
  if (fabric == NodeFabric::pcie && cluster.node &&
      cluster.node->tree.bandwidth > BytesPerSecond()) {
    return cluster.node->tree.bandwidth;
  }
  const BytesPerSecond stated = cluster.intra_node.bandwidth;
  return stated > BytesPerSecond() ? stated : cluster.host_device.bandwidth;
}

/// The most NVLinks of a device in a mesh.
int links_of(const Cluster& cluster) {
  if (!cluster.node || !cluster.node->nvlinks) return 1;
  return nvlinks_per_device(cluster.node->nvlinks->generation);
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
  facts.node_fabric = fabric_of(cluster, placement.ranks_on_node());
  facts.node_bandwidth = node_rate(cluster, facts.node_fabric);
  facts.node_links = links_of(cluster);
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
  add_links(cluster, placement, facts);
  facts.memory_bandwidth = cluster.device.memory_bandwidth;
  facts.launched = cluster.device.launched > 0 ? cluster.device.launched : usual_launch;
  facts.overlap = cases::Overlap::bucketed;
  facts.framework = machine.exchange_traits.value_or(usual_framework());
  if (cluster.device.kind == DeviceKind::cpu) {
    facts.guesses.push_back(fmt::format(
        "{} is a processor, and the trainings fitted to are of GPUs", cluster.device.name));
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
