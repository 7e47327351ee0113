#pragma once
#include <cstddef>
#include <optional>
#include <span>

#include "backend/host/pages.hpp"
#include "bench/engine/benchmark.hpp"

namespace dlscale::bench {

/// A pointer chase through host memory (see host_chase.hpp).
struct HostChaseSpec {
  std::size_t bytes = 0;   ///< size of the working set, ≥ stride
  std::size_t stride = 0;  ///< distance of neighbouring places; a multiple of 8
  backend::PageSize pages = backend::PageSize::small;
};

/// The functions below run on all ranks at once, one thread per rank, bound to its first core. The
/// status is `unsupported` if the system does not have such pages.

/// Takes samples of 4096 accesses, repeated if the system interrupted one (host_chase.hpp).
/// Series: "time", the mean of an access; "core_clock" (Hz, measured after each sample); and
/// "cycles" of an access by that clock.
Measurement measure_host_chase(const HostChaseSpec& spec, const Sampler& sampler);

/// Number of strides in the smallest working set of measure_host_levels(), if they exceed 4 KiB.
inline constexpr std::size_t fewest_places_of_levels = 16;

/// Chases over working sets from 4 KiB to four times the last-level cache (256 MiB if it is
/// unknown; at most 1 GiB and an eighth of the memory, divided among the ranks of a node). There are sixteen
/// sizes per doubling where a level ends, else four. Series by size: "working_set" (B) and
/// "latency" (s, median of nine runs). Series by level of the slowest rank: "level_…"
/// (cache_levels.hpp). Others: "level_cycles", "core_clock", and "told_capacity" (B), the caches
/// that the system reports, with which the implementation compares.
Measurement measure_host_levels(std::size_t stride, backend::PageSize pages,
                                const Sampler& sampler);

/// Measures the cache line size (find_line_size()) by chases in which every other access is 8, 16,
/// …, 512 bytes from the previous one. The rest miss the nearest cache. Series: "distance" (B),
/// "latency" (s), "line" (B), and "told_line" (B) if the system reports it.
Measurement measure_line_size(backend::PageSize pages, const Sampler& sampler);

/// Measures TLB reach: the memory that the processor accesses without TLB misses. It compares
/// chases over one line per page with chases over as many adjacent lines. Series: "working_set" (B,
/// of whole pages), "latency" and "packed_latency" (s), and "level_…" of the latency that pages add
/// to that of the smallest working set.
Measurement measure_page_reach(backend::PageSize pages, const Sampler& sampler);

/// Mean access time if every other access is `distance` bytes from the previous one, and the rest
/// miss the near caches.
struct DistanceLatency {
  std::size_t distance = 0;
  double latency = 0;  ///< > 0, in any unit
};

/// The size of a cache line. Within it, the second access hits the line that the first one loaded.
struct LineSize {
  std::size_t bytes = 0;  ///< smallest distance with a higher latency
  std::size_t above = 0;  ///< largest distance without; the line is longer
  double ratio = 0;       ///< latency beyond a line over that within
};

/// Finds the cut with the least squared deviations of logarithms from the means of both sides.
/// Empty unless latencies beyond the cut are at least an eighth above those within, and the means
/// four standard deviations apart. Requires ascending distances.
std::optional<LineSize> find_line_size(std::span<const DistanceLatency> latencies);

}  // namespace dlscale::bench
