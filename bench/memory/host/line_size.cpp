#include "bench/memory/host/line_size.hpp"

#include <cmath>
#include <limits>

namespace dlscale::bench {
namespace {

constexpr double least_ratio = 1.125;
constexpr double deviations_apart = 4;

struct Side {
  double mean = 0;
  double squares = 0;  ///< Σ (log latency - mean)²
};

Side side_of(std::span<const DistanceLatency> latencies) {
  Side side;
  for (const DistanceLatency& each : latencies) side.mean += std::log(each.latency);
  side.mean /= static_cast<double>(latencies.size());
  for (const DistanceLatency& each : latencies) {
    const double deviation = std::log(each.latency) - side.mean;
    side.squares += deviation * deviation;
  }
  return side;
}

}  // namespace

std::optional<LineSize> find_line_size(std::span<const DistanceLatency> latencies) {
  double least = std::numeric_limits<double>::infinity();
  std::size_t best = 0;
  for (std::size_t cut = 1; cut < latencies.size(); ++cut) {
    const double squares =
        side_of(latencies.first(cut)).squares + side_of(latencies.subspan(cut)).squares;
    if (squares >= least) continue;
    least = squares;
    best = cut;
  }
  if (latencies.size() < 3) return std::nullopt;
  const double step = side_of(latencies.subspan(best)).mean - side_of(latencies.first(best)).mean;
  const double deviation = std::sqrt(least / static_cast<double>(latencies.size() - 2));
  if (step < std::log(least_ratio) || step < deviations_apart * deviation) return std::nullopt;
  return LineSize{latencies[best].distance, latencies[best - 1].distance, std::exp(step)};
}

}  // namespace dlscale::bench
