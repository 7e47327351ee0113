#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.hpp"

namespace dlscale {

/// How the devices and adapters of a node hang together, and the nodes of a cluster: what cluster
/// files say under the keys `node` and `network`. Data sheets, as all of core/cluster/cluster.hpp. Every
/// bandwidth is that of one direction; links are full-duplex.

/// A socket (a processor of the host), or a switch below one.
struct TreePlace {
  std::string name;
  int under = -1;             ///< index of the place above, always less than its own; -1: a socket
  std::vector<int> devices;   ///< right below
  std::vector<int> adapters;  ///< likewise
  BytesPerSecond up;          ///< of a switch to the place above; of a socket 0
  bool operator==(const TreePlace&) const = default;
};

/// The ways from devices to the host: PCI Express on most, NVLink on POWER9. Any two sockets have a
/// link between them.
struct HostTree {
  BytesPerSecond bandwidth;        ///< of a device to the place it hangs below
  Seconds latency;                 ///< of one step of a ring that crosses it
  BytesPerSecond between_sockets;  ///< of any two, > 0 where there are several
  std::vector<TreePlace> places;   ///< each after the one above it
  [[nodiscard]] int sockets() const;
  bool operator==(const HostTree&) const = default;
};

/// NVLinks side by side that join two devices.
struct NvlinkPair {
  int a = 0;
  int b = 1;
  int links = 1;
  bool operator==(const NvlinkPair&) const = default;
};

/// Between devices: a mesh of pairs, or all of a device's links to switches that join any two at
/// their full rate.
struct Nvlinks {
  int generation = 1;             ///< 1 … 5
  std::string board;              ///< one of nvlink_boards(), or empty
  std::vector<NvlinkPair> pairs;  ///< of a mesh
  int switch_links = 0;           ///< of a device to NVSwitches; 0: a mesh
  std::vector<int> rings;         ///< [k]: nvlink_rings() of the first k devices, of a mesh
  [[nodiscard]] BytesPerSecond link_bandwidth() const;
  [[nodiscard]] int links_between(int a, int b) const;  ///< of a mesh
  bool operator==(const Nvlinks&) const = default;
};

/// The inside of a node.
struct NodeLinks {
  HostTree tree;  ///< without places where switches of NVLinks join all devices: not told
  std::optional<Nvlinks> nvlinks;
  std::string source;
  bool operator==(const NodeLinks&) const = default;
};

/// How switches between nodes are put together, as far as it bounds what passes them.
enum class Fabric {
  one_switch,  ///< or as good as one: everything at full rate
  fat_tree,    ///< leaf switches, with fewer links up than down where it is oversubscribed
  dragonfly,   ///< or dragonfly+: groups, joined by global links [Cray Aries, Slingshot]
};
std::string_view fabric_name(Fabric fabric);
Fabric parse_fabric(std::string_view name);  ///< throws ConfigError

/// The links of a node to the others. The bandwidth of all its adapters together, as sold, is
/// Cluster::inter_node's.
struct NetworkLinks {
  std::string kind;           ///< a file of configs/links
  int adapters = 1;           ///< of a node
  double efficiency = 1;      ///< the part of the bandwidth that is payload, in (0, 1]
  std::string efficiency_of;  ///< where that comes from
  Fabric fabric = Fabric::one_switch;
  int group = 0;  ///< nodes of a leaf switch or a group; of one_switch 0
  /// What the links out of a group carry, over what its nodes send at most: 1 / oversubscription,
  /// or the part of a dragonfly's global bandwidth that traffic gets. In (0, 1].
  double share = 1;
  std::string source;
  bool operator==(const NetworkLinks&) const = default;
};

/// One NVLink of that generation, 1 … 5, in one direction: 20, 25, 25, 25 and 50 GB/s [data sheets,
/// named in configs/links/nvlink*.yaml].
BytesPerSecond nvlink_bandwidth(int generation);
/// How many of them a device has at most: 4, 6, 12, 18 and 18 [the same].
int nvlinks_per_device(int generation);

/// Boards that are known by name.
std::vector<std::string> nvlink_boards();
/// The links of one, for nodes of `devices`. Throws ConfigError, opened by `where`, for a name that
/// is none and for a number of devices that it does not have.
Nvlinks nvlink_board(std::string_view name, int devices, std::string_view where);

/// Throws ConfigError, opened by `where`, for what no node of so many devices is like: places in
/// the wrong order, devices and adapters that are not there, there twice or left out, pairs of one
/// device, more links than a device has, rates out of [1 MB/s, 100 TB/s].
void check(const NodeLinks& node, const NetworkLinks* network, int devices, std::string_view where);

}  // namespace dlscale
