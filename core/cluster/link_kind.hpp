#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.hpp"
#include "core/config/data_source.hpp"

namespace dlscale {

/// Kinds of links by name (pcie3x16, nvlink2, infiniband-rdma, …), with the figures of their
/// standards and data sheets. Read from configs/links, one file per kind.

enum class LinkReach {
  intra_node,  ///< from one device to the host or to the other devices of its node
  inter_node,  ///< from one adapter to other nodes
};
std::string_view link_reach_name(LinkReach reach);
LinkReach parse_link_reach(std::string_view name);  ///< throws ConfigError

/// Mechanism that moves the bytes.
enum class LinkTransport {
  pcie,
  nvlink,
  tcp,        ///< through the host's kernel
  os_bypass,  ///< an adapter that programs access without the kernel: RDMA and similar
};
std::string_view link_transport_name(LinkTransport transport);
LinkTransport parse_link_transport(std::string_view name);  ///< throws ConfigError

/// A nominal rate of a link, after the line code, before headers.
struct LinkRate {
  std::string name;  ///< "10 GbE", "EDR 4x"
  BytesPerSecond bandwidth;
};

/// Payload of a packet, and its overhead on the wire.
struct LinkFraming {
  std::string name;  ///< "MTU 1500"
  Bytes payload;
  Bytes overhead;
  /// Largest fraction of the bandwidth that can be payload, in (0.5, 1).
  [[nodiscard]] double efficiency() const { return payload / (payload + overhead); }
};

struct LatencyRange {
  Seconds low;
  Seconds high;
  std::string of;  ///< the operation that has this latency
};

struct LinkKind {
  std::string name;
  std::string doc;
  LinkReach reach = LinkReach::intra_node;
  LinkTransport transport = LinkTransport::pcie;
  int channels = 0;             ///< PCIe lanes or NVLinks per device; 0 for links between nodes
  std::vector<LinkRate> rates;  ///< slowest first; exactly one within a node
  std::vector<LinkFraming> framings;  ///< by packet size; empty if no source states them
  std::optional<LatencyRange> latency;
  std::vector<DataSource> sources;
  /// Bandwidth of one device in one direction. Only for links within a node.
  [[nodiscard]] BytesPerSecond bandwidth() const;
};

/// Reads configs/links/<name>.yaml, or the file `name` if it has a slash or ends in .yaml. Throws
/// ConfigError, which names file, place and what to write.
LinkKind load_link_kind(std::string_view name);

/// Loads all files of configs/links, ordered by name.
std::vector<LinkKind> load_link_kinds();

/// Bandwidth of PCI Express in one direction, after the line code: generation 1 … 6 [PCI Express
/// Base Specification: 2.5 and 5 GT/s per lane with 8 of 10 bits, 8, 16 and 32 GT/s with 128 of
/// 130, 64 GT/s with 242 bytes of each flit of 256].
BytesPerSecond pcie_bandwidth(int generation, int lanes);

}  // namespace dlscale
