#include "model/topology/nccl.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/error.hpp"
#include "core/collective/powers.hpp"

namespace dlscale::model {
namespace {

using Gpu = NcclFacts::Gpu;

/// Most rings: half of NCCL's MAXCHANNELS.
constexpr int most_channels = 32;

// Bandwidths tried for a channel, in GB/s, highest first: within a node, and across nodes.
constexpr std::array ampere_within{40.0, 30.0, 20.0, 18.0, 15.0, 12.0, 10.0,
                                   9.0,  7.0,  6.0,  5.0,  4.0,  3.0};
constexpr std::array ampere_across{48.0, 30.0, 28.0, 24.0, 20.0, 18.0, 15.0, 12.0, 10.0, 9.0,
                                   7.0,  6.0,  5.0,  4.0,  3.0,  2.4,  1.2,  0.24, 0.12};
constexpr std::array hopper_within{60.0, 50.0, 40.0, 30.0, 24.0, 20.0, 15.0, 12.0, 11.0, 6.0, 3.0};
constexpr std::array hopper_across{48.0, 45.0, 42.0, 40.0, 30.0, 24.0, 22.0, 20.0, 17.5,
                                   15.0, 12.0, 6.0,  3.0,  2.4,  1.2,  0.24, 0.12};
constexpr std::array blackwell_within{90.0, 80.0, 70.0, 60.0, 50.0, 45.0,
                                      40.0, 30.0, 24.0, 20.0, 19.0, 18.0};
constexpr std::array blackwell_across{96.0, 86.0, 80.0, 48.0, 45.1, 42.0, 40.0, 30.0, 24.0, 22.0,
                                      20.0, 17.5, 15.0, 12.0, 6.0,  3.0,  2.4,  1.2,  0.24, 0.12};

std::span<const double> speeds(Gpu gpu, bool across) {
  if (gpu == Gpu::hopper) {
    return across ? std::span<const double>(hopper_across) : std::span<const double>(hopper_within);
  }
  if (gpu == Gpu::blackwell) {
    return across ? std::span<const double>(blackwell_across)
                  : std::span<const double>(blackwell_within);
  }
  return across ? std::span<const double>(ampere_across) : std::span<const double>(ampere_within);
}

/// Number of streams of `speed` in a path of `bandwidth`.
int carried(double bandwidth, double speed) {
  return static_cast<int>(std::floor(bandwidth / speed * (1 + 1e-9)));
}

/// Rings, each of one bandwidth everywhere, in GB/s.
struct Rings {
  int count = 0;
  double speed = 0;
  [[nodiscard]] double total() const { return count * speed; }
};

/// Number of rings of `speed` that the GPUs and, across nodes, the adapters carry.
int rings_of(const NcclFacts& facts, bool across, double speed) {
  int count = std::min(carried(facts.gpu_bandwidth.si() / 1e9, speed), most_channels);
  if (across) {
    const int each = carried(facts.adapter_bandwidth.si() / 1e9, speed);
    count = std::min(count, facts.adapters * each);
  }
  return count;
}

/// Searches as NCCL does: it tries slower rings until they are below half of the best so far.
Rings search(const NcclFacts& facts, bool across) {
  constexpr double least_ratio = 0.49;
  Rings best;
  for (const double speed : speeds(facts.gpu, across)) {
    if (best.count > 0 && speed / best.speed <= least_ratio) break;
    const Rings rings{rings_of(facts, across, speed), speed};
    if (rings.total() > best.total()) best = rings;
    if (best.total() >= facts.gpu_bandwidth.si() / 1e9) break;
  }
  return best;
}

/// Doubles the rings of fast channels: a channel is one thread block on each GPU, with limited
/// bandwidth.
Rings doubled(Rings rings, Gpu gpu) {
  if (rings.speed < 25) return rings;
  if (gpu >= Gpu::hopper && rings.speed < 50 && rings.count > 4) return rings;
  const int count = std::min(2 * rings.count, most_channels);
  return {count, rings.speed / std::ceil(static_cast<double>(count) / rings.count)};
}

namespace nccl {

// The constants of NCCL's cost model. [NCCL 2.30, src/graph/tuning.cc at 5067397]
// Times in µs, bandwidths in GB/s; rows by algorithm (tree, ring, NVLS, NVLS tree, PAT) or by
// generation of GPUs (Volta, Ampere, Hopper, Blackwell), columns by protocol (LL, LL128, simple) or
// by nodes (1, 2, more).

template <std::size_t rows>
using Table = std::array<std::array<double, 3>, rows>;

/// Start-up time of a collective.
constexpr Table<5> base_latency{{{6.8, 14.0, 8.4}, {6.6, 14.0, 8.4}, {}, {}, {8.0, 8.0, 8.0}}};
/// Time of a step over NVLink, over PCIe, and over the network.
constexpr Table<5> nvlink_latency{
    {{0.6, 1.25, 4.0}, {0.6, 1.9, 3.4}, {0, 0, 25}, {0, 0, 25}, {0, 0, 4.0}}};
constexpr Table<5> pcie_latency{{{1.0, 1.9, 4.0}, {1.0, 2.5, 5.7}, {}, {}, {0, 0, 4.0}}};
constexpr Table<5> network_latency{
    {{5.0, 8.5, 14.0}, {2.7, 4.0, 14.0}, {0, 0, 18}, {0, 0, 20.9}, {0, 0, 14.0}}};

/// Bandwidth limit of protocol LL: on one node by the GPU, on several by the host (first row for
/// Intel and others, second for AMD).
constexpr Table<4> most_ll{
    {{39.0, 39.0, 20.4}, {87.7, 22.5, 19.0}, {141.0, 45.0, 35.0}, {282.0, 90.0, 70.0}}};
// Bandwidth limits of a channel.
constexpr Table<4> most_ring_ll128{
    {{20.0, 20.0, 20.0}, {20.0, 20.0, 20.0}, {36.7, 36.7, 36.7}, {40.0, 40.0, 40.0}}};
constexpr Table<4> most_tree_ll128{
    {{20.0, 20.0, 20.0}, {20.0, 20.0, 20.0}, {36.7, 36.7, 29.0}, {55.6, 31.67, 20.0}}};
constexpr Table<4> most_tree{
    {{26.5, 18.5, 10.0}, {24.0, 23.6, 17.8}, {38.7, 41.4, 36.0}, {70.0, 42.8, 24.0}}};
constexpr Table<4> most_nvls_tree{
    {{26.5, 18.5, 10.0}, {24.0, 23.6, 17.8}, {0.0, 57.7, 45.5}, {0.0, 96.0, 80.0}}};

/// The part of the links' bandwidth that NVLS reaches, by generation.
constexpr std::array<double, 4> nvls_efficiency{0, 0, 0.85, 0.74};

/// The part of their bandwidth that trees reach for messages of 64 B, 128 B, … 128 MiB and more, by
/// protocol; NCCL assumes full bandwidth beyond the 23rd.
constexpr std::array<std::array<double, 23>, 3> tree_correction{{
    {1.0, 1.0, 1.0, 1.0, .9, .8, .7, .7,  .7,  .7,  .6, .5,
     .4,  .4,  .5,  .6,  .7, .8, .9, 1.0, 1.0, 1.0, 1.0},
    {1.0, 1.0, 1.0, 1.0, 1.0, .9, .8, .8, .8, .7,  .6, .6,
     .6,  .6,  .6,  .6,  .8,  .9, .9, .9, .9, 1.0, 1.0},
    {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9},
}};

}  // namespace nccl

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

NcclChannels ring_channels(const NcclFacts& facts, const Placement& placement) {
  const Rings rings = doubled(search(facts, placement.nodes() > 1), facts.gpu);
  const BytesPerSecond each(rings.speed * 1e9);
  // A path slower than the slowest of the list is one channel at its own speed.
  if (rings.count > 0) return {rings.count, each, each};
  if (placement.nodes() == 1) return {1, facts.gpu_bandwidth, facts.gpu_bandwidth};
  const BytesPerSecond way = std::min(facts.gpu_bandwidth, facts.adapter_bandwidth);
  return {facts.adapters, way, way};
}

NcclChannels multicast_channels(const NcclFacts& facts, const Placement& placement) {
  const int heads = placement.ranks_on_node();
  const bool offered = facts.gpu >= Gpu::hopper && facts.fabric == NcclFacts::Fabric::nvswitch;
  if (!offered || heads < 2) return {};
  const bool across = placement.nodes() > 1;
  // A GPU carries one stream for each head, and two for its own.
  const double within_limit = facts.gpu_bandwidth.si() / 1e9 / (heads + 1);
  const auto fastest = [&](double limit) {
    for (const double speed : speeds(facts.gpu, across)) {
      if (speed <= limit) return BytesPerSecond(speed * 1e9);
    }
    return BytesPerSecond();
  };
  const BytesPerSecond within = fastest(within_limit);
  if (within <= BytesPerSecond()) return {};
  const BytesPerSecond between =
      across ? fastest(facts.adapter_bandwidth.si() / 1e9 * facts.adapters / heads) : within;
  return {heads, within, between};
}

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
  const auto& table =
      facts_.fabric == NcclFacts::Fabric::pcie ? nccl::pcie_latency : nccl::nvlink_latency;
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
