#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.hpp"

namespace dlscale {

/// Topology of the devices and adapters within a node, and of the nodes of a cluster: the keys
/// `node` and `network` of cluster files. Figures come from data sheets, as in
/// core/cluster/cluster.hpp. Every bandwidth is that of one direction; links are full-duplex.

/// A socket (a processor of the host), or a switch below one.
struct TreePlace {
  std::string name;
  int under = -1;             ///< index of the place above, always less than its own; -1: a socket
  std::vector<int> devices;   ///< devices attached directly
  std::vector<int> adapters;  ///< adapters attached directly
  BytesPerSecond up;          ///< from a switch to the place above; 0 for a socket
  bool operator==(const TreePlace&) const = default;
};

/// Paths from devices to the host: PCI Express on most machines, NVLink on POWER9. Every two
/// sockets share a link.
struct HostTree {
  BytesPerSecond bandwidth;        ///< from a device to its place
  Seconds latency;                 ///< one step of a ring that crosses the tree
  BytesPerSecond between_sockets;  ///< between any two sockets, > 0 if there are several
  std::vector<TreePlace> places;   ///< each after the one above it
  [[nodiscard]] int sockets() const;
  bool operator==(const HostTree&) const = default;
};

/// Parallel NVLinks that join two devices.
struct NvlinkPair {
  int a = 0;
  int b = 1;
  int links = 1;
  bool operator==(const NvlinkPair&) const = default;
};

/// NVLinks between devices: a mesh of pairs, or switches that join any two devices at the full rate
/// of all of a device's links.
struct Nvlinks {
  int generation = 1;             ///< 1 … 5
  std::string board;              ///< one of nvlink_boards(), or empty
  std::vector<NvlinkPair> pairs;  ///< pairs of a mesh
  int switch_links = 0;           ///< links from each device to NVSwitches; 0: a mesh
  std::vector<int> rings;         ///< for a mesh: [k] is nvlink_rings() of the first k devices
  [[nodiscard]] BytesPerSecond link_bandwidth() const;
  [[nodiscard]] int links_between(int a, int b) const;  ///< for a mesh
  bool operator==(const Nvlinks&) const = default;
};

/// Links within a node.
struct NodeLinks {
  HostTree tree;  ///< empty (unstated) if NVLink switches join all devices
  std::optional<Nvlinks> nvlinks;
  std::string source;
  bool operator==(const NodeLinks&) const = default;
};

/// Topology of the switches between nodes, as far as it limits their throughput.
enum class Fabric {
  one_switch,  ///< or equivalent to one: everything at full rate
  fat_tree,    ///< leaf switches, with fewer links up than down if it is oversubscribed
  dragonfly,   ///< dragonfly or dragonfly+: groups, joined by global links [Cray Aries, Slingshot]
};
std::string_view fabric_name(Fabric fabric);
Fabric parse_fabric(std::string_view name);  ///< throws ConfigError

/// Links between nodes. Cluster::inter_node holds the nominal bandwidth of all adapters of a node
/// together.
struct NetworkLinks {
  std::string kind;           ///< a file of configs/links
  int adapters = 1;           ///< per node
  double efficiency = 1;      ///< payload fraction of the bandwidth, in (0, 1]
  std::string efficiency_of;  ///< source of that number
  Fabric fabric = Fabric::one_switch;
  int group = 0;  ///< nodes per leaf switch or group; 0 for one_switch
  /// Bandwidth of the links out of a group, divided by the maximum that its nodes send: 1 /
  /// oversubscription, or the part of a dragonfly's global bandwidth that traffic gets. In (0, 1].
  double share = 1;
  std::string source;
  bool operator==(const NetworkLinks&) const = default;
};

/// Bandwidth of one NVLink of generation 1 … 5 in one direction: 20, 25, 25, 25 and 50 GB/s [data
/// sheets, named in configs/links/nvlink*.yaml].
BytesPerSecond nvlink_bandwidth(int generation);
/// Maximum number of NVLinks per device: 4, 6, 12, 18 and 18 [same sources].
int nvlinks_per_device(int generation);

/// Names of the known boards.
std::vector<std::string> nvlink_boards();
/// The links of a board, for nodes of `devices` devices. Throws ConfigError, which starts with
/// `where`, for an unknown name and for a number of devices that the board does not have.
Nvlinks nvlink_board(std::string_view name, int devices, std::string_view where);

/// Throws ConfigError, which starts with `where`, for links that do not describe a node of
/// `devices` devices. Checked are the order of places, devices and adapters that do not exist,
/// occur twice or are missing, and pairs of one device. Further checks: more links than a device
/// has, rates outside [1 MB/s, 100 TB/s].
void check(const NodeLinks& node, const NetworkLinks* network, int devices, std::string_view where);

}  // namespace dlscale
