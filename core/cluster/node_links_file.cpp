#include "core/cluster/node_links_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "core/base/error.hpp"
#include "core/cluster/link_kind.hpp"
#include "core/cluster/nvlink_rings.hpp"
#include "core/config/config_path.hpp"
#include "core/text/suggest.hpp"

namespace dlscale {
namespace {

constexpr IntegerRange index_range{0, 1023};

int place_above(const ConfigMap& map, const std::vector<TreePlace>& places) {
  if (!map.has("under")) return -1;
  const std::string above = map.text("under");
  std::vector<std::string> names;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (places[i].name == above) return static_cast<int>(i);
    names.push_back(places[i].name);
  }
  map.refuse("under", "no place named before this one", suggestion(above, names));
}

TreePlace read_place(const ConfigMap& map, const HostTree& tree) {
  map.allow_only({"name", "under", "bandwidth", "devices", "adapters"});
  TreePlace place;
  place.name = map.name("name");
  if (std::ranges::find(tree.places, place.name, &TreePlace::name) != tree.places.end()) {
    map.refuse("name", fmt::format("place {} is there twice", place.name),
               "Give each a name of its own.");
  }
  place.under = place_above(map, tree.places);
  if (place.under >= 0) {
    place.up = map.has("bandwidth") ? map.quantity<BytesPerSecond>("bandwidth") : tree.bandwidth;
  } else if (map.has("bandwidth")) {
    map.refuse("bandwidth", "but a socket has no way up", "Write between_sockets of the tree.");
  }
  if (map.has("devices")) place.devices = map.integers("devices", index_range);
  if (map.has("adapters")) place.adapters = map.integers("adapters", index_range);
  return place;
}

HostTree read_tree(const ConfigMap& map) {
  map.allow_only({"bandwidth", "latency", "between_sockets", "places"});
  HostTree tree;
  tree.bandwidth = map.quantity<BytesPerSecond>("bandwidth");
  tree.latency = map.quantity<Seconds>("latency");
  const std::vector<ConfigMap> places = map.maps("places");
  if (places.size() > 64) map.refuse("places", "more than 64 places", "Leave out what is alike.");
  for (const ConfigMap& place : places) tree.places.push_back(read_place(place, tree));
  if (map.has("between_sockets")) {
    tree.between_sockets = map.quantity<BytesPerSecond>("between_sockets");
    if (tree.sockets() < 2) {
      map.refuse("between_sockets", "but there is one socket", "Leave it out, or add the other.");
    }
  } else if (tree.sockets() > 1) {
    // Throws if it is missing.
    tree.between_sockets = map.quantity<BytesPerSecond>("between_sockets");
  }
  return tree;
}

NvlinkPair read_pair(const ConfigMap& map) {
  map.allow_only({"devices", "links"});
  const std::vector<int> devices = map.integers("devices", index_range);
  if (devices.size() != 2) map.refuse("devices", "not two devices", "Write [0, 1].");
  return {devices[0], devices[1], map.integer("links", {1, 18})};
}

Nvlinks read_nvlinks(const ConfigMap& map, int devices) {
  map.allow_only({"board", "generation", "pairs"});
  if (map.has("board")) {
    for (const std::string_view key : {"generation", "pairs"}) {
      if (map.has(key)) map.refuse(key, "but the board says it", "Keep either.");
    }
    return nvlink_board(map.text("board"), devices, map.where("board"));
  }
  Nvlinks nvlinks;
  nvlinks.generation = map.integer("generation", {1, 5});
  for (const ConfigMap& pair : map.maps("pairs")) nvlinks.pairs.push_back(read_pair(pair));
  return nvlinks;
}

void read_fabric(const ConfigMap& map, NetworkLinks& network) {
  map.allow_only(
      {"kind", "nodes_per_switch", "oversubscription", "nodes_per_group", "global_share"});
  network.fabric = read_word(map, "kind", parse_fabric);
  switch (network.fabric) {
    case Fabric::one_switch:
      map.allow_only({"kind"});
      return;
    case Fabric::fat_tree:
      map.allow_only({"kind", "nodes_per_switch", "oversubscription"});
      network.group = map.integer("nodes_per_switch", {1, 1'000'000});
      network.share = 1 / map.number("oversubscription", {1, 1000});
      return;
    case Fabric::dragonfly:
      map.allow_only({"kind", "nodes_per_group", "global_share"});
      network.group = map.integer("nodes_per_group", {1, 1'000'000});
      network.share = map.number("global_share", {0.001, 1});
      return;
  }
  fail_expectation("a known fabric between nodes");
}

/// Efficiency from the packets of a kind of link, or as stated.
void read_efficiency(const ConfigMap& map, NetworkLinks& network) {
  if (map.has("packets") == map.has("efficiency")) {
    throw ConfigError(fmt::format(
        "{} needs one of packets and efficiency (not all of a link's bandwidth is payload). Write "
        "packets: \"MTU 4096\", a framing of its kind of link, or efficiency: 0.9 and in source "
        "where that is from.",
        map.where()));
  }
  if (map.has("efficiency")) {
    network.efficiency = map.number("efficiency", {0.01, 1});
    network.efficiency_of = "as stated";
    return;
  }
  const std::string packets = map.text("packets");
  std::vector<std::string> names;
  for (const LinkFraming& framing : load_link_kind(network.kind).framings) {
    names.push_back(framing.name);
    if (framing.name != packets) continue;
    network.efficiency = framing.efficiency();
    network.efficiency_of = packets;
    return;
  }
  map.refuse("packets", "no framing of " + network.kind, suggestion(packets, names));
}

}  // namespace

void count_rings(Nvlinks& nvlinks, int devices) {
  nvlinks.rings.clear();
  if (nvlinks.switch_links > 0) return;
  nvlinks.rings.assign(static_cast<std::size_t>(std::max(devices, 1)) + 1, 0);
  for (int k = 2; k <= devices; ++k) {
    nvlinks.rings[static_cast<std::size_t>(k)] = nvlink_rings(nvlinks.pairs, k);
  }
}

NetworkLinks read_network_links(const ConfigMap& map) {
  map.allow_only({"kind", "adapters", "packets", "efficiency", "fabric", "source"});
  NetworkLinks network;
  network.kind = map.text("kind");
  const std::vector<std::string> kinds = config_names("links");
  const bool known = std::ranges::find(kinds, network.kind) != kinds.end();
  if (!known || load_link_kind(network.kind).reach != LinkReach::inter_node) {
    map.refuse("kind", "no kind of link between nodes", suggestion(network.kind, kinds));
  }
  network.adapters = map.integer("adapters", {1, 64});
  read_efficiency(map, network);
  if (map.has("fabric")) read_fabric(map.map("fabric"), network);
  network.source = map.text("source");
  return network;
}

NodeLinks read_node_links(const ConfigMap& map, const NetworkLinks* network, int devices) {
  map.allow_only({"tree", "nvlink", "source"});
  NodeLinks node;
  if (map.has("nvlink")) node.nvlinks = read_nvlinks(map.map("nvlink"), devices);
  const bool has_switches = node.nvlinks && node.nvlinks->switch_links > 0;
  if (!has_switches || map.has("tree")) node.tree = read_tree(map.map("tree"));
  node.source = map.text("source");
  check(node, network, devices, map.where());
  if (node.nvlinks) count_rings(*node.nvlinks, devices);
  return node;
}

}  // namespace dlscale
