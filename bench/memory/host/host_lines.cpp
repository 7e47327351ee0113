#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "backend/host/topology.hpp"
#include "bench/engine/benchmark.hpp"
#include "bench/memory/host/cache_levels.hpp"
#include "bench/memory/host/host_chase.hpp"
#include "bench/memory/host/host_latency.hpp"
#include "bench/memory/host/host_sweep.hpp"
#include "core/text/quantity_text.hpp"

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

using backend::PageSize;

constexpr std::size_t usual_line = 64;
constexpr std::size_t least_distance = 8;
constexpr std::size_t largest_distance = 512;
/// Large enough that pairs do not overlap, and an odd multiple of 256 B. The starts of blocks, all
/// at the start of a line of up to 256 bytes, then use as many cache sets as possible.
constexpr std::size_t block_bytes = 768;

/// Twice the number of lines in the nearest cache, so that each is evicted before its next visit.
std::size_t blocks_past_nearest_cache(const backend::DataCaches& caches) {
  constexpr std::size_t where_unknown = std::size_t{64} << 10;
  const std::size_t nearest = caches.levels.empty()
                                  ? where_unknown
                                  : static_cast<std::size_t>(caches.levels.front().size.si());
  return 2 * nearest / usual_line;
}

void add_line(Measurement& measurement, const std::vector<SizeLatency>& slowest,
              const backend::DataCaches& caches) {
  std::vector<DistanceLatency> latencies;
  latencies.reserve(slowest.size());
  for (const SizeLatency& each : slowest) latencies.push_back({each.bytes, each.latency});
  const std::optional<LineSize> line = find_line_size(latencies);
  if (line) {
    measurement.series["line"] = make_series("B", {{static_cast<double>(line->bytes)}});
    measurement.implementation +=
        fmt::format("; a line of {} B, longer than {} B", line->bytes, line->above);
  } else {
    measurement.warnings.emplace_back(
        "the latencies show no line size: they do not rise at one distance. Something else used "
        "the processor, or it fetches neighbouring lines by itself; measure again.");
  }
  if (caches.levels.empty() || caches.levels.front().line == Bytes(0)) return;
  measurement.series["told_line"] = make_series("B", {{caches.levels.front().line.si()}});
  measurement.implementation +=
      fmt::format("; {}: {:.0f} B", caches.source, caches.levels.front().line.si());
}

Measurement measure_line(HostSweep& sweep, PageSize pages) {
  const backend::DataCaches caches = backend::data_caches();
  std::vector<double> distances;
  std::vector<double> latencies;
  for (std::size_t distance = least_distance; distance <= largest_distance; distance *= 2) {
    const auto places = paired_places(blocks_past_nearest_cache(caches), block_bytes, distance);
    distances.push_back(static_cast<double>(distance));
    latencies.push_back(sweep.visit(places, 2, pages));
  }
  Measurement measurement = sweep.verdict("pairs of accesses", "distance");
  if (measurement.status != Status::ok) return measurement;
  sweep.add_series(measurement, "distance", "B", distances);
  sweep.add_series(measurement, "latency", "s", latencies);
  add_line(measurement, sweep.slowest(distances, latencies), caches);
  return measurement;
}

/// Latency of the smallest set plus the latency that pages add.
std::vector<SizeLatency> page_latencies(const std::vector<SizeLatency>& spread,
                                        const std::vector<SizeLatency>& packed) {
  std::vector<SizeLatency> all;
  all.reserve(spread.size());
  const double nearest = packed.front().latency;
  for (std::size_t i = 0; i < spread.size(); ++i) {
    all.push_back(
        {spread[i].bytes, nearest + std::max(0.0, spread[i].latency - packed[i].latency)});
  }
  return all;
}

/// Page size for chases over adjacent lines: huge pages avoid TLB misses, if the system has them.
PageSize largest_pages() {
  try {
    const backend::PagedMemory one(1, PageSize::huge);
    return PageSize::huge;
  } catch (const Unsupported&) {
    return PageSize::small;
  }
}

Measurement measure_reach(HostSweep& sweep, PageSize pages) {
  constexpr std::size_t fewest_pages = 8;
  constexpr std::size_t enough = std::size_t{256} << 20;  // 65536 small pages
  const std::size_t page = backend::page_bytes(pages);
  const std::size_t first = fewest_pages * page;
  const std::size_t wanted = pages == PageSize::small ? enough : fewest_pages * enough;
  const std::size_t last = std::max(first, std::min(wanted, 4 * largest_set(sweep.communicator())));
  const PageSize packed_pages = largest_pages();
  std::vector<double> bytes;
  std::vector<double> spread;
  std::vector<double> packed;
  for (const std::size_t size : sweep_sizes(first, last, page)) {
    bytes.push_back(static_cast<double>(size));
    spread.push_back(sweep.visit(spread_places(size, page), 1, pages));
    packed.push_back(
        sweep.visit(spread_places(size / page * usual_line, usual_line), 1, packed_pages));
  }
  const std::string chases =
      fmt::format("pointer chases by pages of {}", to_text(Bytes(static_cast<double>(page))));
  Measurement measurement = sweep.verdict(chases, "size");
  if (measurement.status != Status::ok) return measurement;
  sweep.add_series(measurement, "working_set", "B", bytes);
  sweep.add_series(measurement, "latency", "s", spread);
  sweep.add_series(measurement, "packed_latency", "s", packed);
  add_levels(measurement,
             page_latencies(sweep.slowest(bytes, spread), sweep.slowest(bytes, packed)), "s");
  return measurement;
}

Measurement swept(const Sampler& sampler, PageSize pages,
                  Measurement (*measure)(HostSweep&, PageSize)) {
  try {
    HostSweep sweep(sampler.communicator());
    return measure(sweep, pages);
  } catch (const Unsupported& error) {
    return unsupported(error);
  }
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

Measurement measure_line_size(PageSize pages, const Sampler& sampler) {
  return swept(sampler, pages, measure_line);
}

Measurement measure_page_reach(PageSize pages, const Sampler& sampler) {
  return swept(sampler, pages, measure_reach);
}

}  // namespace dlscale::bench
