#include "model/topology/nccl_channels.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

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

}  // namespace dlscale::model
