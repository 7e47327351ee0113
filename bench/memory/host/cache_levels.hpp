#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "core/base/units.hpp"

namespace dlscale::bench {

/// How long an access takes in a working set of that size.
struct SizeLatency {
  std::size_t bytes = 0;
  double latency = 0;  ///< > 0, in any unit
};

/// A level of the memory: working sets up to `bytes` are served at about `latency`. For the last
/// one `bytes` is the largest working set that was tried.
struct CacheLevel {
  std::size_t bytes = 0;
  double latency = 0;
  std::size_t bytes_low = 0;   ///< up to here nothing misses, with 95 % confidence
  std::size_t bytes_high = 0;  ///< the least working set tried that is clearly larger
  double latency_low = 0;      ///< 95 % interval of the median; of fewer than six sizes the range
  double latency_high = 0;
};

/// The levels that latencies by growing size show. On logarithmic scales the curve is cut into
/// straight stretches (straight_stretches.hpp), deviations below a hundredth being of no interest;
/// one of at least four sizes over two thirds of a doubling along which the latency changes by at
/// most a twentieth with each doubling is flat and belongs to a level. So does one along which it
/// rises by at most a quarter, if it rises by more than a quarter and more than twice as fast in
/// the doubling before and in the one after: a cache that other programs use as well. One that is
/// less than a quarter above the level before belongs to the same, whose latency is that of its
/// longest stretch.
///
/// Beyond it the latency climbs over some sizes, because a cache that doesn't replace what was used
/// longest ago, or holds other things too, misses a part of the accesses only. The level's size is
/// the largest before the latency has gone half the way to the next level on a logarithmic scale,
/// but has at most doubled: at most a quarter more than the cache, if it replaces lines at random.
/// Requires sizes in growing order.
std::vector<CacheLevel> find_levels(std::span<const SizeLatency> latencies);

/// Sizes from `first` to at least `last`, four to each doubling, multiples of `stride`.
std::vector<std::size_t> sweep_sizes(std::size_t first, std::size_t last, std::size_t stride);

/// Sizes that tell better where the levels end: multiples of `stride` within the intervals of all
/// but the last, sixteen to each doubling.
std::vector<std::size_t> sizes_between(std::span<const CacheLevel> levels, std::size_t stride);

}  // namespace dlscale::bench
