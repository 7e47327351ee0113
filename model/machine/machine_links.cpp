#include "model/machine/machine_links.hpp"

#include <utility>

#include "core/base/error.hpp"
#include "core/cluster/node_links_file.hpp"

namespace dlscale::model::machine_file {
namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson place_json(const TreePlace& place) {
  return {{"name", place.name},
          {"under", place.under + 1},  // 0: a socket
          {"up_bytes_per_s", place.up.si()},
          {"devices", place.devices},
          {"adapters", place.adapters}};
}

OrderedJson nvlinks_json(const Nvlinks& nvlinks) {
  OrderedJson pairs = OrderedJson::array();
  for (const NvlinkPair& pair : nvlinks.pairs) pairs.push_back({pair.a, pair.b, pair.links});
  return {{"generation", nvlinks.generation},
          {"board", nvlinks.board},
          {"switch_links", nvlinks.switch_links},
          {"pairs", pairs}};
}

int read_index(const Value& value) {
  return value.integer(0);
}

TreePlace read_place(const Value& value) {
  Object object(value);
  TreePlace place;
  place.name = object.take("name").text();
  place.under = object.take("under").integer(0) - 1;
  place.up = BytesPerSecond(object.take("up_bytes_per_s").rate());
  place.devices = read_list(object.take("devices"), read_index);
  place.adapters = read_list(object.take("adapters"), read_index);
  object.done();
  return place;
}

NvlinkPair read_pair(const Value& value) {
  const std::vector<int> numbers = read_list(value, read_index);
  if (numbers.size() != 3) value.fail("is not two devices and their number of links");
  return {numbers[0], numbers[1], numbers[2]};
}

Nvlinks read_nvlinks(const Value& value) {
  Object object(value);
  Nvlinks nvlinks;
  nvlinks.generation = object.take("generation").integer(1);
  if (nvlinks.generation > 5) value.fail("has a generation that is not known");
  nvlinks.board = object.take("board").text();
  nvlinks.switch_links = object.take("switch_links").integer(0);
  nvlinks.pairs = read_list(object.take("pairs"), read_pair);
  object.done();
  return nvlinks;
}

NodeLinks read_node(const Value& value) {
  Object object(value);
  NodeLinks node;
  node.tree.bandwidth = BytesPerSecond(object.take("bandwidth_bytes_per_s").rate());
  node.tree.latency = Seconds(object.take("latency_s").number());
  node.tree.between_sockets = BytesPerSecond(object.take("between_sockets_bytes_per_s").rate());
  node.tree.places = read_list(object.take("places"), read_place);
  if (object.has("nvlinks")) node.nvlinks = read_nvlinks(object.take("nvlinks"));
  node.source = object.take("source").text();
  object.done();
  return node;
}

/// Reads a number in (0, 1].
double read_part(const Value& value) {
  constexpr double least = 1e-6;  // below it, times of messages overflow
  const double part = value.number();
  if (part < least || part > 1) value.fail("is out of [0.000001, 1]");
  return part;
}

NetworkLinks read_network(const Value& value) {
  Object object(value);
  NetworkLinks network;
  network.kind = object.take("kind").text();
  network.adapters = object.take("adapters").integer(1);
  if (network.adapters > 64) value.fail("has more than 64 adapters a node");
  network.efficiency = read_part(object.take("efficiency"));
  network.efficiency_of = object.take("efficiency_of").text();
  network.fabric = read_word(object.take("fabric"), parse_fabric);
  network.group = object.take("group").integer(network.fabric == Fabric::one_switch ? 0 : 1);
  network.share = read_part(object.take("share"));
  network.source = object.take("source").text();
  object.done();
  return network;
}

}  // namespace

OrderedJson node_json(const NodeLinks& node) {
  OrderedJson places = OrderedJson::array();
  for (const TreePlace& place : node.tree.places) places.push_back(place_json(place));
  OrderedJson json{{"bandwidth_bytes_per_s", node.tree.bandwidth.si()},
                   {"latency_s", node.tree.latency.si()},
                   {"between_sockets_bytes_per_s", node.tree.between_sockets.si()},
                   {"places", places}};
  if (node.nvlinks) json["nvlinks"] = nvlinks_json(*node.nvlinks);
  json["source"] = node.source;
  return json;
}

OrderedJson network_json(const NetworkLinks& network) {
  return {{"kind", network.kind},
          {"adapters", network.adapters},
          {"efficiency", network.efficiency},
          {"efficiency_of", network.efficiency_of},
          {"fabric", fabric_name(network.fabric)},
          {"group", network.group},
          {"share", network.share},
          {"source", network.source}};
}

void read_links_of(Object& object, Cluster& cluster) {
  if (object.has("network")) cluster.network = read_network(object.take("network"));
  if (!object.has("node")) return;
  const Value value = object.take("node");
  NodeLinks node = read_node(value);
  try {
    check(node, cluster.network ? &*cluster.network : nullptr, cluster.devices_per_node, "node");
  } catch (const ConfigError& error) {
    value.fail(fmt::format("is wrong: {}", error.what()));
  }
  if (node.nvlinks) count_rings(*node.nvlinks, cluster.devices_per_node);
  cluster.node = std::move(node);
}

}  // namespace dlscale::model::machine_file
