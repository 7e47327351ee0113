#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "core/nccl_facts.hpp"
#include "core/units.hpp"
#include "model/topology/nccl_channels.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {

/// How the ranks pass the message on; NVLS: an NVSwitch adds and multicasts it.
enum class NcclAlgorithm { tree, ring, nvls, nvls_tree };
enum class NcclProtocol { ll, ll128, simple };

/// What NCCL runs for one message, and the time that its cost model says.
struct NcclChoice {
  NcclAlgorithm algorithm = NcclAlgorithm::ring;
  NcclProtocol protocol = NcclProtocol::simple;
  Seconds time;
};
std::string to_string(const NcclChoice& choice);  ///< "tree, LL128"

/// NCCL's own cost model of all-reduce (3.9), by which it chooses among its algorithms:
///   t = latency + m / bandwidth, both by algorithm, protocol, GPUs, nodes and channels.
/// One message at a time; user settings (NCCL_ALGO, NCCL_PROTO), in-network reduction (CollNet) and
/// trees other than balanced ones are left out. It is the vendor's fit to the vendor's machines:
/// off by tens of percent where adapters and GPUs do not share a PCIe switch. [NCCL 2.30,
/// src/graph/tuning.cc at 5067397]
class NcclModel {
 public:
  /// `placement` has ≥ 2 ranks; a last node may be filled in part.
  NcclModel(const NcclFacts& facts, const Placement& placement);
  /// With channels from elsewhere, such as NCCL's log.
  NcclModel(const NcclFacts& facts, const Placement& placement, const NcclChannels& rings,
            const NcclChannels& multicasts);

  /// Nothing where NCCL does not offer the combination.
  [[nodiscard]] std::optional<Seconds> time(NcclAlgorithm algorithm, NcclProtocol protocol,
                                            Bytes message) const;
  [[nodiscard]] NcclChoice choose(Bytes message) const;

 private:
  [[nodiscard]] bool offers(NcclAlgorithm algorithm, NcclProtocol protocol) const;
  [[nodiscard]] double ring_bandwidth(NcclProtocol protocol) const;
  [[nodiscard]] double tree_bandwidth(NcclProtocol protocol) const;
  [[nodiscard]] double multicast_bandwidth(NcclAlgorithm algorithm) const;
  [[nodiscard]] double bandwidth(NcclAlgorithm algorithm, NcclProtocol protocol,
                                 Bytes message) const;
  [[nodiscard]] double ring_latency(NcclProtocol protocol, Bytes message) const;
  [[nodiscard]] double latency(NcclAlgorithm algorithm, NcclProtocol protocol, Bytes message) const;
  [[nodiscard]] double within_latency(NcclAlgorithm algorithm, NcclProtocol protocol) const;
  [[nodiscard]] double between_latency(NcclAlgorithm algorithm, NcclProtocol protocol) const;
  [[nodiscard]] double steps() const { return 2.0 * (ranks_ - 1); }

  NcclFacts facts_;
  double ranks_;
  double nodes_;
  int ranks_on_node_;
  NcclChannels rings_;
  NcclChannels multicasts_;
};

}  // namespace dlscale::model
