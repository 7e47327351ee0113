#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "core/base/units.hpp"
#include "core/results/measurement.hpp"

namespace dlscale::bench {

/// Access time in a working set of that size.
struct SizeLatency {
  std::size_t bytes = 0;
  double latency = 0;  ///< > 0, in any unit
};

/// A level of the memory hierarchy: working sets up to `bytes` have about `latency`. For the last
/// level, `bytes` is the largest working set tried.
struct CacheLevel {
  std::size_t bytes = 0;
  double latency = 0;
  std::size_t bytes_low = 0;   ///< no misses up to this size, with 95 % confidence
  std::size_t bytes_high = 0;  ///< smallest tried working set that is clearly larger
  double latency_low = 0;      ///< 95 % interval of the median; the range for fewer than six sizes
  double latency_high = 0;
};

/// Finds the levels in latencies by ascending size. The curve is cut into line segments on
/// logarithmic scales (piecewise_linear_segments.hpp), with deviations below a hundredth ignored. A
/// flat segment belongs to a level. It has at least four sizes over two thirds of a doubling, and
/// the latency changes by at most a twentieth per doubling.
///
/// A segment also belongs to a level if it rises by at most a quarter per doubling between steeper
/// rises. The doublings before and after it rise by more than a quarter, and more than twice as
/// fast. This is a cache shared with other programs. A segment less than a quarter above the
/// previous level belongs to that level, whose latency is that of its longest segment.
///
/// Beyond a level the latency climbs over some sizes. A cache without LRU replacement, or with
/// other contents, misses only a part of the accesses. The level's size is the largest before the
/// latency has gone half-way to the next level on a logarithmic scale, but has at most doubled.
/// With random replacement it is at most a quarter larger than the cache. Requires ascending sizes.
std::vector<CacheLevel> find_levels(std::span<const SizeLatency> latencies);

/// Sizes from `first` to at least `last`, four per doubling, multiples of `stride`.
std::vector<std::size_t> sweep_sizes(std::size_t first, std::size_t last, std::size_t stride);

/// Sizes that locate the ends of levels more closely: multiples of `stride` within the intervals of
/// all but the last level, sixteen per doubling.
std::vector<std::size_t> sizes_between(std::span<const CacheLevel> levels, std::size_t stride);

/// Finds the levels in latencies of unit `unit`. Adds them to a measurement as series
/// "level_capacity" (B) and "level_latency", with 95 % intervals in "…_low" and "…_high", one value
/// per level; or a warning if there are none. Returns them.
std::vector<CacheLevel> add_levels(Measurement& measurement, std::span<const SizeLatency> latencies,
                                   const std::string& unit);

/// Combines sizes and latencies.
std::vector<SizeLatency> paired(std::span<const double> bytes, std::span<const double> latencies);

}  // namespace dlscale::bench
