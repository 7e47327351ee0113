#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "core/base/units.hpp"
#include "core/cluster/nccl_facts.hpp"
#include "core/collective/algorithm.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {

/// Copies of one pattern that NCCL runs in parallel, and the bandwidth of each.
struct NcclChannels {
  int count = 0;
  BytesPerSecond within_node;
  BytesPerSecond between_nodes;
};

/// The rings that NCCL's search finds among equally connected GPUs (a switch, or links between all
/// of them); it makes as many trees. For each bandwidth of a list it counts the rings that GPUs and
/// adapters carry. The most bandwidth in all wins, then the fewest rings. It doubles them where one
/// ring would need more than a thread block moves. Only the paths of the facts count: where sockets
/// or PCIe switches lie between, NCCL finds less. [NCCL 2.30, ncclTopoCompute() and
/// ncclTopoDupChannels() in src/graph/search.cc at 5067397]
NcclChannels ring_channels(const NcclFacts& facts, const Placement& placement);

/// The NVLS channels: one for each GPU of a node as the head of a multicast from every GPU. None
/// (count 0) below Hopper or without an NVSwitch. [ncclTopoSearchTryNvls(), there]
NcclChannels multicast_channels(const NcclFacts& facts, const Placement& placement);

/// How the ranks pass the message on. NVLS: an NVSwitch adds and multicasts it. PAT: parallel trees
/// of one rank a node.
enum class NcclAlgorithm { tree, ring, nvls, nvls_tree, pat };
enum class NcclProtocol { ll, ll128, simple };

/// NCCL's choice for one message, with the time by its cost model.
struct NcclChoice {
  NcclAlgorithm algorithm = NcclAlgorithm::ring;
  NcclProtocol protocol = NcclProtocol::simple;
  Seconds time;
};
std::string to_string(const NcclChoice& choice);  ///< "tree, LL128"

/// NCCL's own cost model of a collective, by which it chooses among its algorithms:
///   t = latency + m / bandwidth, both by collective, algorithm, protocol, GPUs, nodes and
///   channels,
/// with m the message as core/collective defines it. All-reduce uses trees, rings or NVLS.
/// Reduce-scatter and all-gather use rings, NVLS on one node, or PAT with one rank a node. Reduce
/// and broadcast use rings only, and one step counts once, because the ranks pipeline pieces.
/// Covers one message at a time. It leaves out user settings (NCCL_ALGO, NCCL_PROTO), in-network
/// reduction (CollNet), unbalanced trees, and rings that differ between channels. It is the
/// vendor's fit to the vendor's machines: off by tens of percent where adapters and GPUs do not
/// share a PCIe switch. [NCCL 2.30, src/graph/tuning.cc at 5067397]
class NcclModel {
 public:
  /// `placement` has ≥ 2 ranks; its last node may be partly filled. Excludes all-to-all, which NCCL
  /// builds from messages between two ranks.
  NcclModel(const NcclFacts& facts, const Placement& placement,
            collective::Collective collective = collective::Collective::all_reduce);
  /// Takes the channels from elsewhere, for example from NCCL's log.
  NcclModel(const NcclFacts& facts, const Placement& placement, const NcclChannels& rings,
            const NcclChannels& multicasts,
            collective::Collective collective = collective::Collective::all_reduce);

  /// Empty where NCCL does not offer the combination.
  [[nodiscard]] std::optional<Seconds> time(NcclAlgorithm algorithm, NcclProtocol protocol,
                                            Bytes message) const;
  [[nodiscard]] NcclChoice choose(Bytes message) const;

 private:
  [[nodiscard]] bool offers(NcclAlgorithm algorithm, NcclProtocol protocol) const;
  [[nodiscard]] bool has_root() const;
  [[nodiscard]] bool halves_all_reduce() const;
  [[nodiscard]] double channel() const;
  [[nodiscard]] double ring_bandwidth(NcclProtocol protocol) const;
  [[nodiscard]] double tree_bandwidth(NcclProtocol protocol) const;
  [[nodiscard]] double multicast_bandwidth(NcclAlgorithm algorithm) const;
  [[nodiscard]] double bandwidth(NcclAlgorithm algorithm, NcclProtocol protocol,
                                 Bytes message) const;
  [[nodiscard]] double ring_latency(NcclProtocol protocol, Bytes message) const;
  [[nodiscard]] double latency(NcclAlgorithm algorithm, NcclProtocol protocol, Bytes message) const;
  [[nodiscard]] double within_latency(NcclAlgorithm algorithm, NcclProtocol protocol) const;
  [[nodiscard]] double between_latency(NcclAlgorithm algorithm, NcclProtocol protocol) const;
  [[nodiscard]] double steps(double of) const;

  collective::Collective collective_;
  NcclFacts facts_;
  double ranks_;
  double nodes_;
  int ranks_on_node_;
  NcclChannels rings_;
  NcclChannels multicasts_;
};

}  // namespace dlscale::model
