#include "model/topology/nccl.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "core/base/error.hpp"
#include "core/collective/powers.hpp"
#include "model/topology/nccl_constants.hpp"

namespace dlscale::model {
namespace {

using collective::Collective;
using Gpu = NcclFacts::Gpu;
using Processor = NcclFacts::Processor;

constexpr std::array all_algorithms{NcclAlgorithm::tree, NcclAlgorithm::ring, NcclAlgorithm::nvls,
                                    NcclAlgorithm::nvls_tree, NcclAlgorithm::pat};
constexpr std::array all_protocols{NcclProtocol::ll, NcclProtocol::ll128, NcclProtocol::simple};

constexpr std::size_t at(NcclAlgorithm algorithm) {
  return static_cast<std::size_t>(algorithm);
}
constexpr std::size_t at(NcclProtocol protocol) {
  return static_cast<std::size_t>(protocol);
}
constexpr std::size_t at(Gpu gpu) {
  return static_cast<std::size_t>(gpu);
}

double gigabytes(BytesPerSecond bandwidth) {
  return bandwidth.si() / 1e9;
}

/// Column of a table by nodes.
std::size_t column(double nodes) {
  return nodes <= 2 ? static_cast<std::size_t>(nodes) - 1 : 2;
}

int log2_of(double nodes) {
  return collective::floor_log2(static_cast<int>(nodes));
}

/// Host time to post a message to the network, in µs.
double network_overhead(Processor processor, NcclProtocol protocol) {
  const double once = processor == Processor::amd ? 2.0 : 1.0;
  return protocol == NcclProtocol::simple ? 3 * once : once;
}

}  // namespace

std::string to_string(const NcclChoice& choice) {
  constexpr std::array<std::string_view, 5> algorithms{"tree", "ring", "NVLS", "NVLS tree", "PAT"};
  constexpr std::array<std::string_view, 3> protocols{"LL", "LL128", "simple"};
  return fmt::format("{}, {}", algorithms[at(choice.algorithm)], protocols[at(choice.protocol)]);
}

NcclModel::NcclModel(const NcclFacts& facts, const Placement& placement, Collective collective)
    : NcclModel(facts, placement, ring_channels(facts, placement),
                multicast_channels(facts, placement), collective) {}

NcclModel::NcclModel(const NcclFacts& facts, const Placement& placement, const NcclChannels& rings,
                     const NcclChannels& multicasts, Collective collective)
    : collective_(collective),
      facts_(facts),
      ranks_(placement.ranks),
      nodes_(placement.nodes()),
      ranks_on_node_(placement.ranks_on_node()),
      rings_(rings),
      multicasts_(multicasts) {
  EXPECT(placement.ranks >= 2 && rings.count >= 1 && collective != Collective::all_to_all);
}

bool NcclModel::has_root() const {
  return collective_ == Collective::reduce || collective_ == Collective::broadcast;
}

bool NcclModel::halves_all_reduce() const {
  return collective_ == Collective::reduce_scatter || collective_ == Collective::all_gather;
}

bool NcclModel::offers(NcclAlgorithm algorithm, NcclProtocol protocol) const {
  const bool simple = protocol == NcclProtocol::simple;
  const bool all_reduce = collective_ == Collective::all_reduce;
  switch (algorithm) {
    case NcclAlgorithm::tree:
      if (!all_reduce) return false;
      [[fallthrough]];
    case NcclAlgorithm::ring:
      // LL128 needs NVLink within the node, so that 128 bytes are stored as one.
      return protocol != NcclProtocol::ll128 || facts_.fabric != NcclFacts::Fabric::pcie;
    case NcclAlgorithm::nvls:
      return simple && !has_root() && multicasts_.count >= 2 && nodes_ == 1;
    case NcclAlgorithm::nvls_tree:
      return simple && all_reduce && multicasts_.count >= 2 && nodes_ > 1;
    case NcclAlgorithm::pat:
      return simple && halves_all_reduce() && nodes_ == ranks_;
  }
  return false;
}

/// Steps of a ring on that many ranks or nodes.
double NcclModel::steps(double of) const {
  if (collective_ == Collective::all_reduce) return 2 * (of - 1);
  return has_root() ? of : of - 1;
}

/// GB/s of a channel of rings and trees.
double NcclModel::channel() const {
  return gigabytes(nodes_ <= 2 ? rings_.within_node : rings_.between_nodes);
}

double NcclModel::ring_bandwidth(NcclProtocol protocol) const {
  double bus = rings_.count * channel();
  if (protocol == NcclProtocol::ll) {
    const std::size_t by_host = facts_.processor == Processor::amd ? 1 : 0;
    const std::size_t row = nodes_ == 1 ? at(facts_.gpu) : by_host;
    bus = std::min(nccl::most_ll[row][column(nodes_)], bus / 2);
  } else if (protocol == NcclProtocol::ll128) {
    const double most = nccl::most_ring_ll128[at(facts_.gpu)][column(nodes_)];
    bus = std::min(0.92 * bus, rings_.count * most);
  }
  return bus * ranks_ / steps(ranks_);
}

double NcclModel::tree_bandwidth(NcclProtocol protocol) const {
  const std::size_t gpu = at(facts_.gpu);
  double bus = std::min(0.92 * rings_.count * channel(),
                        rings_.count * nccl::most_tree[gpu][column(nodes_)]);
  if (protocol == NcclProtocol::ll) {
    const std::size_t by_host = facts_.processor == Processor::amd ? 1 : 0;
    const std::size_t row = nodes_ == 1 ? gpu : by_host;
    bus = std::min(bus / 3.8, nccl::most_ll[row][column(nodes_)]);
  } else if (protocol == NcclProtocol::ll128) {
    bus = std::min(bus * (nodes_ == 1 ? 7.0 / 9 : 120.0 / 128),
                   rings_.count * nccl::most_tree_ll128[gpu][column(nodes_)]);
  }
  return bus / 2;
}

double NcclModel::multicast_bandwidth(NcclAlgorithm algorithm) const {
  const bool tree = algorithm == NcclAlgorithm::nvls_tree;
  const double heads = multicasts_.count;
  // Reduction and multicast of an all-reduce overlap; in other collectives a rank has its own part.
  const double operations = halves_all_reduce() ? (ranks_on_node_ - 1.0) / ranks_on_node_ : 2;
  const double within = operations * gigabytes(multicasts_.within_node) *
                        nccl::nvls_efficiency[at(facts_.gpu)] * (heads - 1) / heads;
  const double between = gigabytes(multicasts_.between_nodes) * (tree && nodes_ == 2 ? 2 : 1);
  double channel = std::min(within, between);
  if (nodes_ == 1) channel = within;
  if (tree) channel = std::min(channel, nccl::most_nvls_tree[at(facts_.gpu)][column(nodes_)]);
  const double bus = heads * channel;
  return halves_all_reduce() ? bus : bus * ranks_ / steps(ranks_);
}

/// GB/s of the message, in µs per kB.
double NcclModel::bandwidth(NcclAlgorithm algorithm, NcclProtocol protocol, Bytes message) const {
  if (algorithm == NcclAlgorithm::ring) return ring_bandwidth(protocol);
  if (algorithm == NcclAlgorithm::pat) return 0.75 * rings_.count * channel();
  if (algorithm != NcclAlgorithm::tree) return multicast_bandwidth(algorithm);
  const double least = 64;
  if (message.si() < least) return tree_bandwidth(protocol);
  const auto& correction = nccl::tree_correction[at(protocol)];
  const auto size = static_cast<std::size_t>(std::floor(std::log2(message.si() / least)));
  return tree_bandwidth(protocol) * (size < correction.size() ? correction[size] : 1.0);
}

double NcclModel::within_latency(NcclAlgorithm algorithm, NcclProtocol protocol) const {
  const auto& table = facts_.fabric == NcclFacts::Fabric::pcie ? nccl::pcie_latency : nccl::nvlink_latency;
  return table[at(algorithm)][at(protocol)];
}

/// Uses the tree's latency with one rank a node, where nothing hides it.
double NcclModel::between_latency(NcclAlgorithm algorithm, NcclProtocol protocol) const {
  const NcclAlgorithm row = ranks_on_node_ == 1 ? NcclAlgorithm::tree : algorithm;
  return nccl::network_latency[at(row)][at(protocol)];
}

/// A reduce or a broadcast counts one step, of the slowest link and without host overhead.
double NcclModel::ring_latency(NcclProtocol protocol, Bytes message) const {
  const double base = nccl::base_latency[at(NcclAlgorithm::ring)][at(protocol)];
  double within = within_latency(NcclAlgorithm::ring, protocol);
  if (has_root()) {
    return base +
           (nodes_ == 1 ? within : nccl::network_latency[at(NcclAlgorithm::ring)][at(protocol)]);
  }
  if (nodes_ > 1) within = std::max(within, network_overhead(facts_.processor, protocol));
  const double crossings = steps(nodes_);  // 0 for one node
  const double total = base + (steps(ranks_) - crossings) * within +
                       crossings * between_latency(NcclAlgorithm::ring, protocol);
  // "Plateau" of rings with long steps.
  const bool plateau = collective_ == Collective::all_reduce && protocol == NcclProtocol::simple &&
                       nodes_ > 1 && message.si() / (rings_.count * ranks_) >= 64;
  if (!plateau) return total;
  return total * (facts_.gpu == Gpu::volta ? 1.9 : 1.4);
}

double NcclModel::latency(NcclAlgorithm algorithm, NcclProtocol protocol, Bytes message) const {
  if (algorithm == NcclAlgorithm::ring) return ring_latency(protocol, message);
  const double base = nccl::base_latency[at(algorithm)][at(protocol)];
  const double within = within_latency(algorithm, protocol);
  const double between = between_latency(algorithm, protocol);
  const int depth = log2_of(nodes_);
  if (algorithm == NcclAlgorithm::tree) {
    return base + 2 * ((std::floor(ranks_ / nodes_) - 1) * within + depth * between);
  }
  // A part of it grows with the ranks.
  if (algorithm == NcclAlgorithm::pat) return base + depth * between / 3.5 + 2.8 * ranks_;
  return algorithm == NcclAlgorithm::nvls ? within : within + 2 * depth * between;
}

std::optional<Seconds> NcclModel::time(NcclAlgorithm algorithm, NcclProtocol protocol,
                                       Bytes message) const {
  if (!offers(algorithm, protocol)) return std::nullopt;
  const double rate = bandwidth(algorithm, protocol, message);
  return Seconds(1e-6 * latency(algorithm, protocol, message) + message.si() / (1e9 * rate));
}

NcclChoice NcclModel::choose(Bytes message) const {
  std::optional<NcclChoice> best;
  for (const NcclAlgorithm algorithm : all_algorithms) {
    for (const NcclProtocol protocol : all_protocols) {
      const auto found = time(algorithm, protocol, message);
      if (found && (!best || *found < best->time)) best = NcclChoice{algorithm, protocol, *found};
    }
  }
  EXPECT(best.has_value());
  return *best;
}

}  // namespace dlscale::model
