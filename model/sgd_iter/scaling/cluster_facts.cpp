#include "model/sgd_iter/scaling/cluster_facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "model/published/scaling/facts/network_kind.hpp"
#include "model/topology/link_words.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {
namespace {

using scaling::ClusterFabric;
using scaling::NodeFabric;
using scaling::TrainingFacts;

constexpr double f32_bytes = 4;
/// Year of a device whose sheet states none: that of most published trainings.
constexpr int usual_launch = 2018;

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

/// The links of the first `devices` of a node. The rings of a stated mesh carry their rate between
/// all devices that they pass, as switches would.
NodeFabric fabric_of(const Cluster& cluster, int devices, const TrainingFacts& facts) {
  if (states_mesh(cluster)) {
    const bool by_host = devices > 1 && mesh_rings(cluster, devices, facts) == 0;
    return by_host && !names_near_host(cluster) ? NodeFabric::pcie : NodeFabric::switched;
  }
  if (cluster.node) return cluster.node->nvlinks ? NodeFabric::switched : NodeFabric::pcie;
  return names_nvlinks(cluster) ? NodeFabric::switched : NodeFabric::pcie;
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
  if (states_mesh(cluster)) facts.node_nominal = cluster.intra_node.bandwidth;
  if (placement.nodes() == 1) return;
  nominal_link(cluster, cluster.inter_node, 1);
  facts.cluster_fabric = names_sockets(cluster) ? ClusterFabric::tcp : ClusterFabric::rdma;
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
  traits.eager = true;
  return traits;
}

cases::Overlap overlap_of(Schedule schedule) {
  switch (schedule) {
    case Schedule::sequential:
      return cases::Overlap::none;
    case Schedule::wait_free:
      return cases::Overlap::wfbp;
    case Schedule::merged_greedy:
    case Schedule::merged:
      return cases::Overlap::merged;
    case Schedule::priority:
      return cases::Overlap::scheduled;
    case Schedule::bucketed:
    case Schedule::horovod:
    case Schedule::reduce_scatter_overlap:
      return cases::Overlap::bucketed;
  }
  fail_expectation("a schedule of the enumeration");
}

/// The traits with what a run states of its servers.
scaling::FrameworkTraits traits_of(const Run& run, scaling::FrameworkTraits traits) {
  const Transport transport = run.settings.transport;
  if (run.settings.sharding != Sharding::largest_first || !traits.servers) {
    traits.sharding = run.settings.sharding;
  }
  traits.servers = true;
  if (transport == Transport::collectives) return traits;
  traits.over_sockets = transport == Transport::grpc;
  traits.transport_unknown = false;
  traits.each_calls = run.settings.callers == Callers::ranks;
  if (traits.each_calls) traits.node_sum = NodeSum::host;
  return traits;
}

/// The nodes on which servers are. Ranks that are servers fill nodes from the first one on.
int serving_nodes(const Run& run, const Placement& placement) {
  const int servers = run.settings.servers;
  if (servers == 0) return placement.nodes();
  const bool by_ranks =
      run.settings.callers == Callers::ranks && run.settings.transport != Transport::collectives;
  const int each = by_ranks ? placement.ranks_per_node : 1;
  return std::min((servers + each - 1) / each, placement.nodes());
}

void add_servers(const Run& run, TrainingFacts& facts) {
  const Placement placement{run.ranks, run.ranks_per_node};
  facts.synchronisation = cases::Synchronisation::parameter_server;
  facts.framework = traits_of(run, std::move(facts.framework));
  const int serving = serving_nodes(run, placement);
  const double uneven = scaling::server_imbalance(facts, serving);
  facts.asked.busiest_server = uneven * placement.nodes() / serving;
}

}  // namespace

scaling::Layout layout_of(const Placement& placement) {
  scaling::Layout layout;
  layout.gpus = placement.ranks;
  layout.nodes = placement.nodes();
  layout.gpus_on_node = placement.ranks_on_node();
  return layout;
}

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
  if (cluster.device.kind == DeviceKind::cpu) {
    facts.guesses.emplace_back("the published trainings are of GPUs, not of processors");
  }
  return facts;
}

bool exchanges_by_servers(const Machine& machine, const Run& run) {
  if (machine.fitted || run.ranks == 1) return false;
  if (run.synchronisation != Synchronisation::parameter_server) return false;
  if (run.settings.transport != Transport::collectives) return true;
  return machine.exchange_traits && machine.exchange_traits->servers;
}

TrainingFacts run_facts(const Machine& machine, const Run& run, const Network& network,
                        Seconds alone) {
  TrainingFacts facts = cluster_facts(machine, {run.ranks, run.ranks_per_node});
  facts.parameters = static_cast<double>(network.parameter_count());
  facts.gradient = Bytes(f32_bytes * facts.parameters);
  facts.profile = {scaling::TensorSource::layers,
                   scaling::ready_tensors(scaling::layer_work(network))};
  facts.given_iteration = alone;
  facts.given_batch = facts.batch = run.batch;
  facts.half_precision = element_bytes(run.dtype) == 2;
  facts.uneven_samples = has_uneven_samples(network);
  const bool has_decoding = machine.cluster.host.decode > Seconds();
  if (!network.is_over_sequences() && !has_decoding) facts.sample = scaling::picture_bytes;
  facts.overlap =
      facts.framework.overlap_unknown ? cases::Overlap::unknown : overlap_of(run.schedule);
  if (exchanges_by_servers(machine, run)) add_servers(run, facts);
  return facts;
}

bool has_uneven_samples(const Network& network) {
  return scaling::network_kind(network.name()).uneven_samples;
}

}  // namespace dlscale::model
