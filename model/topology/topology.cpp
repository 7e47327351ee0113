#include "model/topology/topology.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/remedy.hpp"
#include "core/collective/powers.hpp"
#include "core/collective/schedule.hpp"
#include "core/text/quantity_text.hpp"

namespace dlscale::model {
namespace {

constexpr double no_limit = std::numeric_limits<double>::infinity();

std::size_t place_of(const HostTree& tree, int device) {
  for (std::size_t i = 0; i < tree.places.size(); ++i) {
    if (std::ranges::find(tree.places[i].devices, device) != tree.places[i].devices.end()) return i;
  }
  fail_expectation("a device that hangs below a place");
}

/// Number of the first k devices at each place or below it.
std::vector<int> devices_below(const HostTree& tree, int k) {
  std::vector<int> count(tree.places.size(), 0);
  for (std::size_t i = tree.places.size(); i-- > 0;) {
    const TreePlace& place = tree.places[i];
    count[i] += static_cast<int>(
        std::ranges::count_if(place.devices, [k](int device) { return device < k; }));
    if (place.under >= 0) count[static_cast<std::size_t>(place.under)] += count[i];
  }
  return count;
}

BytesPerSecond tree_ring(const HostTree& tree, int k) {
  const std::vector<int> below = devices_below(tree, k);
  BytesPerSecond least = tree.bandwidth;
  for (std::size_t i = 0; i < below.size(); ++i) {
    if (below[i] == 0 || below[i] == k) continue;
    least = std::min(least, tree.places[i].under < 0 ? tree.between_sockets : tree.places[i].up);
  }
  return least;
}

/// The places from that one up to its socket.
std::vector<std::size_t> way_up(const HostTree& tree, std::size_t from) {
  std::vector<std::size_t> places{from};
  while (tree.places[places.back()].under >= 0) {
    places.push_back(static_cast<std::size_t>(tree.places[places.back()].under));
  }
  return places;
}

BytesPerSecond tree_way(const HostTree& tree, int a, int b) {
  const std::vector<std::size_t> from = way_up(tree, place_of(tree, a));
  const std::vector<std::size_t> to = way_up(tree, place_of(tree, b));
  BytesPerSecond least = tree.bandwidth;
  const auto cross = [&](const auto& own, const auto& other) {
    for (const std::size_t place : own) {
      if (std::ranges::find(other, place) != other.end()) return;
      least = std::min(least,
                       tree.places[place].under < 0 ? tree.between_sockets : tree.places[place].up);
    }
  };
  cross(from, to);
  cross(to, from);
  return least;
}

/// Capacities between places, with a source at all devices and a sink at all adapters.
class OutFlow {
 public:
  OutFlow(const HostTree& tree, int k, BytesPerSecond adapter)
      : size_(tree.places.size() + 2), free_(size_ * size_, 0.0) {
    const std::size_t places = tree.places.size();
    for (std::size_t i = 0; i < places; ++i) {
      const TreePlace& place = tree.places[i];
      const auto devices =
          std::ranges::count_if(place.devices, [k](int device) { return device < k; });
      at(source(), i) = static_cast<double>(devices) * tree.bandwidth.si();
      at(i, sink()) = static_cast<double>(place.adapters.size()) * adapter.si();
      if (place.under >= 0) {
        join(i, static_cast<std::size_t>(place.under), place.up.si());
        continue;
      }
      for (std::size_t j = 0; j < i; ++j) {
        if (tree.places[j].under < 0) join(i, j, tree.between_sockets.si());
      }
    }
  }

  /// Maximum flow by shortest augmenting paths [Edmonds and Karp 1972].
  double most() {
    double total = 0;
    while (true) {
      const std::vector<std::size_t> before = ways_from_source();
      if (before[sink()] == size_) return total;
      double fits = no_limit;
      for (std::size_t to = sink(); to != source(); to = before[to]) {
        fits = std::min(fits, at(before[to], to));
      }
      for (std::size_t to = sink(); to != source(); to = before[to]) {
        at(before[to], to) -= fits;
        at(to, before[to]) += fits;
      }
      total += fits;
    }
  }

 private:
  [[nodiscard]] std::size_t source() const { return size_ - 2; }
  [[nodiscard]] std::size_t sink() const { return size_ - 1; }
  double& at(std::size_t from, std::size_t to) { return free_[from * size_ + to]; }
  void join(std::size_t a, std::size_t b, double capacity) {
    at(a, b) = capacity;
    at(b, a) = capacity;
  }

  /// Predecessor on a shortest path from the source; size_: not reached.
  std::vector<std::size_t> ways_from_source() {
    std::vector<std::size_t> before(size_, size_);
    std::vector<std::size_t> reached{source()};
    before[source()] = source();
    for (std::size_t next = 0; next < reached.size(); ++next) {
      for (std::size_t to = 0; to < size_; ++to) {
        if (before[to] != size_ || at(reached[next], to) <= 0) continue;
        before[to] = reached[next];
        reached.push_back(to);
      }
    }
    return before;
  }

  std::size_t size_;
  std::vector<double> free_;
};

[[noreturn]] void refuse_unknown(const Cluster& cluster, const LinkSpec& link) {
  const bool between_nodes = &link == &cluster.inter_node;
  throw RemediableError(
      fmt::format(
          "cluster {} does not say how fast messages {} are, so nothing can be predicted for "
          "several workers. Measure them and calibrate, {}state bandwidth and latency "
          "between nodes, or ask for one rank.",
          cluster.name, between_nodes ? "between nodes" : "between workers of one node",
          between_nodes ? "" : "calibrate nodes of one worker and "),
      {.subject = "comm", .ranks = 2});
}

/// A step of a ring over k devices without other traffic.
struct WithinNode {
  BytesPerSecond bandwidth;
  Seconds latency;
};

WithinNode within_node(const Cluster& cluster, int k) {
  const LinkSpec& stated = cluster.intra_node;
  const NodeRing all = ring_over(*cluster.node, cluster.devices_per_node);
  const NodeRing own = ring_over(*cluster.node, k);
  if (own.over_tree == all.over_tree) {
    return {own.bandwidth / all.bandwidth * stated.bandwidth, stated.latency};
  }
  return {own.bandwidth, own.over_tree ? cluster.node->tree.latency : stated.latency};
}

bool describes_ring(const Cluster& cluster, const Placement& placement) {
  return cluster.node && cluster.devices_per_node > 1 && placement.ranks_on_node() > 1;
}

/// Number of ranks with a link of their own, at most the number of devices.
int devices_of(const Cluster& cluster, int ranks) {
  return std::min(ranks, cluster.devices_per_node);
}

using collective::Link;

NominalAllReduce ring(const Link& slowest, const Placement& placement) {
  const double steps = 2.0 * (placement.ranks - 1);
  return {"a ring over the slowest of them",
          {steps * slowest.alpha, steps / placement.ranks * slowest.beta}};
}

/// Rings of two levels; a partly filled last node counts as full.
NominalAllReduce two_levels(const Link& inside, const Link& outside, const Placement& placement) {
  const double within = 2.0 * (placement.ranks_on_node() - 1);
  const double across = 2.0 * (placement.nodes() - 1);
  return {"rings within nodes and across them",
          {within * inside.alpha + across * outside.alpha,
           within / placement.ranks_on_node() * inside.beta +
               across / placement.nodes() * outside.beta}};
}

NominalAllReduce trees(const Link& inside, const Link& outside, const Placement& placement) {
  const double levels = collective::ceiling_log2(placement.nodes());
  const double within = placement.ranks_on_node() - 1;
  return {"double binary trees of nodes",
          {2 * within * inside.alpha + 2 * levels * outside.alpha,
           2 * std::max(inside.beta, outside.beta)}};
}

/// Whether `other` is at least as fast for every message, and faster for some.
bool is_beaten(const NominalAllReduce& one, const NominalAllReduce& other) {
  return other.cost.a <= one.cost.a && other.cost.b <= one.cost.b && other.cost != one.cost;
}

}  // namespace

std::string NodeRing::text() const {
  if (over_tree) return "a ring through the host";
  return fmt::format("{} ring{} of NVLinks", rings, rings == 1 ? "" : "s");
}

NodeRing ring_over(const NodeLinks& node, int k) {
  EXPECT(k >= 2);
  if (node.nvlinks) {
    const Nvlinks& nvlinks = *node.nvlinks;
    const int rings = nvlinks.switch_links > 0 ? nvlinks.switch_links
                                               : nvlinks.rings.at(static_cast<std::size_t>(k));
    if (rings > 0) return {1.0 * rings * nvlinks.link_bandwidth(), rings, false};
  }
  return {tree_ring(node.tree, k), 1, true};
}

BytesPerSecond between(const NodeLinks& node, int a, int b) {
  EXPECT(a != b);
  if (node.nvlinks) {
    const Nvlinks& nvlinks = *node.nvlinks;
    const int links = nvlinks.switch_links > 0 ? nvlinks.switch_links : nvlinks.links_between(a, b);
    if (links > 0) return 1.0 * links * nvlinks.link_bandwidth();
  }
  return tree_way(node.tree, a, b);
}

BytesPerSecond out_of_node(const NodeLinks& node, int k, int adapters, BytesPerSecond adapter) {
  EXPECT(k >= 1 && adapters >= 1);
  const bool placed = std::ranges::any_of(
      node.tree.places, [](const TreePlace& place) { return !place.adapters.empty(); });
  if (!placed) return 1.0 * adapters * adapter;
  return BytesPerSecond(OutFlow(node.tree, k, adapter).most());
}

double taper(const NetworkLinks& network, int nodes) {
  EXPECT(nodes >= 1);
  if (network.fabric == Fabric::one_switch || nodes <= network.group) return 1;
  const double leave = 1.0 * (nodes - network.group) / (nodes - 1);
  return std::min(1.0, network.share / leave);
}

collective::Link nominal_link(const Cluster& cluster, const LinkSpec& link, double sharers) {
  if (link.bandwidth.si() <= 0) refuse_unknown(cluster, link);
  return {link.latency, sharers / link.bandwidth, SecondsPerByte()};
}

collective::Link link_within(const Cluster& cluster, const Placement& placement) {
  collective::Link link = nominal_link(cluster, cluster.intra_node, 1);
  if (!describes_ring(cluster, placement)) return link;
  const int full = devices_of(cluster, placement.ranks_on_node());
  const int on_last = devices_of(cluster, placement.ranks_on_last());
  const int last = on_last > 1 ? on_last : full;  // a single one has no link to cross
  const WithinNode a = within_node(cluster, full);
  const WithinNode b = within_node(cluster, last);
  link.alpha = std::max(a.latency, b.latency);
  link.beta = 1 / std::min(a.bandwidth, b.bandwidth);
  return link;
}

collective::Link link_between_nodes(const Cluster& cluster, const Placement& placement,
                                    double sharers) {
  collective::Link link = nominal_link(cluster, cluster.inter_node, sharers);
  if (!cluster.network) return link;
  const NetworkLinks& network = *cluster.network;
  const BytesPerSecond payload = network.efficiency * cluster.inter_node.bandwidth;
  BytesPerSecond rate = taper(network, placement.nodes()) * payload;
  if (cluster.node) {
    for (const int ranks : {placement.ranks_on_node(), placement.ranks_on_last()}) {
      rate = std::min(rate, out_of_node(*cluster.node, devices_of(cluster, ranks), network.adapters,
                                        payload / network.adapters));
    }
  }
  link.beta = sharers / rate;
  return link;
}

std::string described_links(const Cluster& cluster, const Placement& placement) {
  std::string text;
  if (describes_ring(cluster, placement)) {
    const int k = devices_of(cluster, placement.ranks_on_node());
    text = fmt::format("{} of {} devices: {}, {}", k, cluster.devices_per_node,
                       ring_over(*cluster.node, k).text(),
                       to_text(1 / link_within(cluster, placement).beta));
  }
  if (cluster.network && placement.nodes() > 1) {
    text += fmt::format("{}{} nodes: {} out of each", text.empty() ? "" : "; ", placement.nodes(),
                        to_text(1 / link_between_nodes(cluster, placement, 1).beta));
  }
  return text;
}

collective::Link ring_link(const Cluster& cluster, const Placement& placement) {
  if (placement.nodes() == 1) return link_within(cluster, placement);
  const auto outside = link_between_nodes(cluster, placement, 1);
  if (placement.ranks_per_node == 1) return outside;
  const auto inside = link_within(cluster, placement);
  return {std::max(inside.alpha, outside.alpha), std::max(inside.beta, outside.beta),
          SecondsPerByte()};
}

std::vector<NominalAllReduce> nominal_all_reduces(const Cluster& cluster,
                                                  const Placement& placement) {
  EXPECT(placement.ranks >= 2);
  const AllReduceRule rule = cluster.all_reduce;
  if (rule == AllReduceRule::nccl) return {};
  const bool flat = rule == AllReduceRule::ring || placement.nodes() == 1;
  if (flat) return {ring(ring_link(cluster, placement), placement)};
  const Link inside =
      placement.ranks_on_node() > 1 ? link_within(cluster, placement) : collective::Link{};
  const Link outside = link_between_nodes(cluster, placement, 1);
  const NominalAllReduce rings = two_levels(inside, outside, placement);
  if (rule == AllReduceRule::hierarchical) return {rings};
  const Link slowest{
      std::max(inside.alpha, outside.alpha), std::max(inside.beta, outside.beta), {}};
  const std::vector<NominalAllReduce> all{ring(slowest, placement), rings,
                                          trees(inside, outside, placement)};
  std::vector<NominalAllReduce> offered;
  std::ranges::copy_if(all, std::back_inserter(offered), [&](const NominalAllReduce& one) {
    return std::ranges::none_of(
        all, [&](const NominalAllReduce& other) { return is_beaten(one, other); });
  });
  return offered;
}

const NominalAllReduce& quickest(std::span<const NominalAllReduce> offered, Bytes m) {
  EXPECT(!offered.empty());
  return *std::ranges::min_element(offered, {},
                                   [&](const NominalAllReduce& one) { return one.cost(m); });
}

int levels_of(const AddingSwitches& switches, int nodes) {
  EXPECT(nodes >= 1 && switches.down_links >= 2);
  int levels = 0;
  for (int below = nodes; below > 1 || levels == 0; ++levels) {
    below = below / switches.down_links + (below % switches.down_links > 0 ? 1 : 0);
  }
  return levels;
}

Seconds in_network_all_reduce(const AddingSwitches& switches, const collective::Links& links,
                              const Placement& placement, Bytes m) {
  EXPECT(placement.nodes() >= 2);
  const auto& [inter, intra] = links;
  const double g = placement.ranks_on_node();
  const int h = levels_of(switches, placement.nodes());
  const Seconds within =
      2 * (g - 1) * (intra.alpha + m / g * intra.beta) + (g - 1) * (m / g * intra.gamma);
  return within + inter.alpha + 2.0 * h * switches.hop + m * inter.beta / switches.efficiency;
}

}  // namespace dlscale::model
