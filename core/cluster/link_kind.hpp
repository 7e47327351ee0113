#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.hpp"
#include "core/config/data_source.hpp"

namespace dlscale {

/// Kinds of links by name (pcie3x16, nvlink2, infiniband-rdma, …): what their standards and data
/// sheets say of them. Read from configs/links, one file a kind.

enum class LinkReach {
  intra_node,  ///< of one device, to the host or to the other devices of its node
  inter_node,  ///< of one adapter, to other nodes
};
std::string_view link_reach_name(LinkReach reach);
LinkReach parse_link_reach(std::string_view name);  ///< throws ConfigError

/// Who moves the bytes.
enum class LinkTransport {
  pcie,
  nvlink,
  tcp,        ///< the kernel of the host
  os_bypass,  ///< an adapter that programs talk to without the kernel: RDMA and its likes
};
std::string_view link_transport_name(LinkTransport transport);
LinkTransport parse_link_transport(std::string_view name);  ///< throws ConfigError

/// One speed a link is sold with: line code taken off, headers not.
struct LinkRate {
  std::string name;  ///< "10 GbE", "EDR 4x"
  BytesPerSecond bandwidth;
};

/// What a packet carries, and what it takes on the wire besides.
struct LinkFraming {
  std::string name;  ///< "MTU 1500"
  Bytes payload;
  Bytes overhead;
  /// The most of the bandwidth that can be payload, in (0.5, 1).
  [[nodiscard]] double efficiency() const { return payload / (payload + overhead); }
};

struct LatencyRange {
  Seconds low;
  Seconds high;
  std::string of;  ///< what takes so long
};

struct LinkKind {
  std::string name;
  std::string doc;
  LinkReach reach = LinkReach::intra_node;
  LinkTransport transport = LinkTransport::pcie;
  int channels = 0;             ///< PCIe lanes or NVLinks of a device; 0 of links between nodes
  std::vector<LinkRate> rates;  ///< slowest first; exactly one within a node
  std::vector<LinkFraming> framings;  ///< by size of packet; empty: no source says
  std::optional<LatencyRange> latency;
  std::vector<DataSource> sources;
  /// In one direction, of a device. Within a node only.
  [[nodiscard]] BytesPerSecond bandwidth() const;
};

/// Reads configs/links/<name>.yaml, or the file `name` if it has a slash or ends in .yaml. Throws
/// ConfigError that names file, place and what to write.
LinkKind load_link_kind(std::string_view name);

/// All of configs/links, by name.
std::vector<LinkKind> load_link_kinds();

/// One direction of PCI Express, line code taken off: generation 1 … 5 [PCI Express Base
/// Specification: 2.5 and 5 GT/s a lane with 8 of 10 bits, 8, 16 and 32 GT/s with 128 of 130].
BytesPerSecond pcie_bandwidth(int generation, int lanes);

}  // namespace dlscale
