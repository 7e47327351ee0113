#include "model/topology/node_paths.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

#include "core/base/error.hpp"

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

}  // namespace dlscale::model
