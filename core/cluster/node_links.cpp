#include "core/cluster/node_links.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
#include <utility>

#include "core/base/error.hpp"
#include "core/cluster/nvlink_rings.hpp"
#include "core/text/words.hpp"

namespace dlscale {
namespace {

constexpr std::array fabrics{Fabric::one_switch, Fabric::fat_tree, Fabric::dragonfly};

constexpr int most_devices = 1024;

struct NvlinkGeneration {
  double bandwidth;
  int links;
};
constexpr std::array generations{NvlinkGeneration{20e9, 4}, NvlinkGeneration{25e9, 6},
                                 NvlinkGeneration{25e9, 12}, NvlinkGeneration{25e9, 18},
                                 NvlinkGeneration{50e9, 18}};

const NvlinkGeneration& generation_at(int generation) {
  EXPECT(generation >= 1 && generation <= static_cast<int>(generations.size()));
  return generations[static_cast<std::size_t>(generation - 1)];
}

/// Finds and reports errors in a description.
class NodeCheck {
 public:
  NodeCheck(const NodeLinks& node, const NetworkLinks* network, int devices, std::string_view where)
      : node_(&node), network_(network), devices_(devices), where_(where) {}

  void run() const {
    if (devices_ > most_devices) {
      fail(fmt::format("a node of {} devices cannot be described, of {} at most. Leave it out.",
                       devices_, most_devices));
    }
    const bool has_switches = node_->nvlinks && node_->nvlinks->switch_links > 0;
    if (has_switches && node_->tree.places.empty()) {
      check_nvlinks(*node_->nvlinks);
      return;
    }
    check_places();
    check_once("device", devices_, &TreePlace::devices, true);
    const int adapters = network_ == nullptr ? 0 : network_->adapters;
    check_once("adapter", adapters, &TreePlace::adapters, false);
    if (node_->nvlinks) check_nvlinks(*node_->nvlinks);
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const {
    throw ConfigError(fmt::format("{}: {}", where_, problem));
  }

  void check_rate(BytesPerSecond rate, std::string_view what) const {
    if (rate >= BytesPerSecond(1e6) && rate <= BytesPerSecond(1e14)) return;
    fail(
        fmt::format("{} is out of [1 MB/s, 100 TB/s] (no link is like that). Write that of one "
                    "direction.",
                    what));
  }

  void check_places() const {
    const HostTree& tree = node_->tree;
    check_rate(tree.bandwidth, "the bandwidth of the tree");
    if (tree.latency > Seconds(1))
      fail("the latency of the tree is over a second. Check its unit.");
    if (tree.places.empty() || tree.places.size() > 64) {
      fail(
          fmt::format("the tree has {} places, out of [1, 64] (devices hang below some). Name the "
                      "sockets and the switches.",
                      tree.places.size()));
    }
    std::set<std::string_view> names;
    for (std::size_t i = 0; i < tree.places.size(); ++i) {
      const TreePlace& place = tree.places[i];
      if (!names.insert(place.name).second) {
        fail(fmt::format("place {} is there twice. Give each a name of its own.", place.name));
      }
      if (place.under >= static_cast<int>(i) || place.under < -1) {
        fail(fmt::format("place {} stands before what it is under. Name sockets first.",
                         place.name));
      }
      if (place.under >= 0) check_rate(place.up, fmt::format("the way up of {}", place.name));
    }
    if (tree.sockets() > 1) check_rate(tree.between_sockets, "the link between sockets");
  }

  /// Requires each one below exactly one place; members that may be unknown may be missing
  /// altogether.
  void check_once(std::string_view what, int count, std::vector<int> TreePlace::*members,
                  bool required) const {
    std::vector<int> seen(static_cast<std::size_t>(count), 0);
    bool any = required;
    for (const TreePlace& place : node_->tree.places) {
      for (const int member : place.*members) {
        any = true;
        if (member < 0 || member >= count) {
          fail(
              fmt::format("{} {} below {} is not there (a node has {} of them, counted from 0). "
                          "Correct its number.",
                          what, member, place.name, count));
        }
        if (++seen[static_cast<std::size_t>(member)] > 1) {
          fail(fmt::format("{} {} hangs below two places. Keep one.", what, member));
        }
      }
    }
    const auto missing = std::ranges::find(seen, 0);
    if (!any || missing == seen.end()) return;
    fail(fmt::format("{} {} hangs below no place (so nobody knows its way). Add it to one.", what,
                     missing - seen.begin()));
  }

  void check_nvlinks(const Nvlinks& nvlinks) const {
    const int most = nvlinks_per_device(nvlinks.generation);
    if (nvlinks.switch_links > most) {
      fail(
          fmt::format("a device has {} NVLinks to switches, and at most {} of generation {}. "
                      "Correct the number.",
                      nvlinks.switch_links, most, nvlinks.generation));
    }
    if (nvlinks.switch_links > 0) return;
    if (nvlinks.pairs.empty())
      fail("NVLinks join no pair. State pairs or a board, or leave them out.");
    if (devices_ > most_mesh_devices) {
      fail(
          fmt::format("a mesh of NVLinks is known for up to {} devices, and a node has {}. Larger "
                      "ones have switches: name such a board.",
                      most_mesh_devices, devices_));
    }
    check_pairs(nvlinks, most);
  }

  void check_pairs(const Nvlinks& nvlinks, int most) const {
    std::vector<int> links(static_cast<std::size_t>(devices_), 0);
    std::set<std::pair<int, int>> seen;
    for (const NvlinkPair& pair : nvlinks.pairs) {
      const auto [low, high] = std::minmax(pair.a, pair.b);
      if (low < 0 || high >= devices_ || low == high) {
        fail(
            fmt::format("NVLinks join devices {} and {}, and a node has {}, counted from 0. Name "
                        "two of them.",
                        pair.a, pair.b, devices_));
      }
      if (!seen.emplace(low, high).second) {
        fail(fmt::format("the NVLinks of devices {} and {} are there twice. Add them up.", low,
                         high));
      }
      if (pair.links < 1 || pair.links > most) {
        fail(
            fmt::format("devices {} and {} have {} NVLinks, out of [1, {}] of generation {}. "
                        "Correct the number.",
                        low, high, pair.links, most, nvlinks.generation));
      }
      links[static_cast<std::size_t>(low)] += pair.links;
      links[static_cast<std::size_t>(high)] += pair.links;
    }
    const auto worst = std::ranges::max_element(links);
    if (*worst <= most) return;
    fail(fmt::format("device {} has {} NVLinks, and at most {} of generation {}. Leave some out.",
                     worst - links.begin(), *worst, most, nvlinks.generation));
  }

  const NodeLinks* node_;
  const NetworkLinks* network_;
  int devices_;
  std::string_view where_;
};

}  // namespace

int HostTree::sockets() const {
  return static_cast<int>(std::ranges::count(places, -1, &TreePlace::under));
}

BytesPerSecond Nvlinks::link_bandwidth() const {
  return nvlink_bandwidth(generation);
}

int Nvlinks::links_between(int a, int b) const {
  for (const NvlinkPair& pair : pairs) {
    if (std::minmax(pair.a, pair.b) == std::minmax(a, b)) return pair.links;
  }
  return 0;
}

std::string_view fabric_name(Fabric fabric) {
  switch (fabric) {
    case Fabric::one_switch:
      return "one_switch";
    case Fabric::fat_tree:
      return "fat_tree";
    case Fabric::dragonfly:
      return "dragonfly";
  }
  fail_expectation("a known fabric between nodes");
}

Fabric parse_fabric(std::string_view name) {
  return parse_word("fabric between nodes", name, fabrics, fabric_name);
}

BytesPerSecond nvlink_bandwidth(int generation) {
  return BytesPerSecond(generation_at(generation).bandwidth);
}

int nvlinks_per_device(int generation) {
  return generation_at(generation).links;
}

void check(const NodeLinks& node, const NetworkLinks* network, int devices,
           std::string_view where) {
  NodeCheck(node, network, devices, where).run();
}

}  // namespace dlscale
